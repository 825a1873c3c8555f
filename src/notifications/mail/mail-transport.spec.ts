import { once } from 'node:events';
import { hostname } from 'node:os';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { expect, it } from 'vitest';
import type { Config } from '../../platform/config/config.js';
import { greetingName, isRecipientUnknown, MailTrial, newMailTransport } from './mail-transport.js';

/** Runs `work` with the configuration of an SMTP server that has these options. */
async function withServer<Outcome>(options: SMTPServerOptions, work: (config: Config) => Promise<Outcome>) {
  const server = new SMTPServer({ authOptional: true, disabledCommands: ['AUTH', 'STARTTLS'], ...options });
  const listener = server.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const config = {
    sendsMail: true,
    smtpHost: '127.0.0.1',
    smtpPort: (listener.address() as AddressInfo).port,
    smtpUsername: '',
    smtpTls: 'never',
    mailFrom: 'Sealwright <no-reply@sealwright.example>',
    publicUrl: 'https://sealwright.example',
  } as Config;
  try {
    return await work(config);
  } finally {
    await new Promise<void>((done) => server.close(done));
  }
}

it('an email is marked as automatic, so that no out-of-office replies are sent', async () => {
  const received: Promise<string>[] = [];
  const onData: SMTPServerOptions['onData'] = (stream, _session, done) =>
    void received.push(text(stream).finally(() => done()));
  const outcome = await withServer({ onData }, (config) => new MailTrial(config).send('ann@example.com'));
  expect(outcome).toMatchObject({ sent: true });
  expect(await received[0]).toMatch(/^Auto-Submitted: auto-generated\r$/m);
});

it.each([
  ['worker-1.example.org', 'https://sign.example.org', 'worker-1.example.org'],
  ['sealwright-7d9c4-x2k9q', 'https://sign.example.org:8443/', 'sign.example.org'],
  ['10.0.0.7', 'https://sign.example.org', 'sign.example.org'],
  ['', 'https://sign.example.org', 'sign.example.org'],
  ['sealwright-7d9c4-x2k9q', 'http://localhost:9090', undefined],
  ['localhost', 'https://192.0.2.7', undefined],
  ['localhost', 'https://[2001:db8::1]', undefined],
])('the host %s with the public URL %s uses the greeting %s', (machine, publicUrl, expected) => {
  expect(greetingName(machine, publicUrl)).toBe(expected);
});

it('a mail server is greeted with a domain name', async () => {
  let greeted: string | undefined;
  const onMailFrom: SMTPServerOptions['onMailFrom'] = (_address, session, done) => {
    greeted = session.hostNameAppearsAs || undefined;
    done();
  };
  await withServer({ onMailFrom }, (config) => new MailTrial(config).send('ann@example.com'));
  expect(greeted).toBe(greetingName(hostname(), 'https://sealwright.example'));
});

it.each<[number, string, boolean]>([
  [550, '5.1.1 no such user', true],
  [553, '5.1.3 bad address syntax', true],
  [556, '5.1.10 recipient address has null MX', true],
  [550, '5.7.1 relaying denied', false],
  [554, '5.1.8 sender address rejected', false],
  [550, 'no such user', false],
  [450, '4.1.1 not known yet', false],
  [452, '4.2.2 mailbox full', false],
])('a recipient rejected with %i %s is permanently unknown: %s', async (responseCode, words, expected) => {
  const onRcptTo: SMTPServerOptions['onRcptTo'] = (_address, _session, done) =>
    done(Object.assign(new Error(words), { responseCode }));
  const mail = { from: 'a@example.com', to: 'nobody@example.com', text: 'x' };
  const refusal = await withServer({ onRcptTo }, (config) =>
    newMailTransport(config)
      .sendMail(mail)
      .catch((error: unknown) => error),
  );
  expect(refusal).toBeInstanceOf(Error);
  expect(isRecipientUnknown(refusal)).toBe(expected);
});
