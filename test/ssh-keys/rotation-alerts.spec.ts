import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hurryAlerts } from '../alerts/alert-events.js';
import { SmtpPeer } from '../fakes/smtp.js';
import { WebReceiver } from '../fakes/web-receiver.js';
import { SshFleet } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, fingerprintOfLine } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const TO = 'ssh-team@corp.example';
const PATH = '/rotations';

describe.runIf(canRunSshd())('people are alerted about', () => {
  const smtp = new SmtpPeer();
  const receiver = new WebReceiver();
  let stage: Stage;
  let service: Service;
  let field: SshFleet;
  let secret: string;
  let hurry: NodeJS.Timeout;

  beforeAll(async () => {
    await smtp.start();
    await receiver.start();
    stage = await openStage();
    const { apiKey } = await stage.seed();
    const settings = {
      ...smtp.settings,
      SVC_ALERT_EMAIL_ENABLED: 'true',
      SVC_ALERT_EMAIL_TO: TO,
      SVC_ALLOW_LOOPBACK: 'yes',
      SVC_OUTBOUND_ALLOW: '127.0.0.1/32',
    };
    service = await stage.start({ settings });
    field = new SshFleet(() => service, apiKey);
    const url = `http://127.0.0.1:${receiver.port}${PATH}`;
    ({ secret } = await field.ask('POST', '/api/webhooks', { name: 'desk', url, events: ['alert.*', 'hosts.*'] }));
    hurry = hurryAlerts(stage);
  });
  afterAll(async () => {
    clearInterval(hurry);
    await field.close();
    await stage.close();
    await receiver.stop();
    await smtp.stop();
  });

  /** Waits for the message about this subject and verifies the message as its receiver does. */
  const heard = async (count: number, subject: string) => {
    const calls = await receiver.calls(PATH, count, 30);
    const messages = calls.map(({ body, headers }) => new Webhook(secret).verify(body, headers as never));
    return messages.find((message) => (message as { data: { subject?: { id: string } } }).data.subject?.id === subject);
  };

  it('a rotation that requires intervention', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const file = join(host.sshd.home('deploy'), '.ssh/authorized_keys');
    appendFileSync(file, '# Managed by Puppet, do not edit\n');
    const id = await field.rotate(key.id, [host]);
    expect((await field.ended(id)).status).toBe('HALTED');
    const mail = await smtp.mailTo(TO, `rotation of ${key.fingerprint}`);
    expect(mail.subject).toBe(`[critical] A key rotation needs attention: rotation of ${key.fingerprint}`);
    expect(mail.text).toMatch(/Where\n {2}rotation of \S+, host-\d/);
    expect(mail.text).toMatch(/What to do\n {2}Open the rotation/);
    expect(await heard(1, id)).toMatchObject({
      type: 'alert.opened',
      data: { severity: 'critical', rule: { condition: 'rotation-critical' }, subject: { kind: 'ssh-rotation' } },
    });
    await field.ask('POST', `/v1/rotations/${id}/rollback`);
    await field.ended(id, 30, ['ROLLED_BACK']);
    const alert = await until('the end of the alert', 30, async () => {
      const one = await field.alertAbout(id);
      return one?.status === 'RESOLVED' && one;
    });
    expect(alert.resolvedBy).toBeNull();
  });

  it('a changed host key, until somebody accepts it', async () => {
    const host = await field.addHost();
    await host.sshd.swapHostKey('ed25519');
    const test = () => field.ask('POST', `/v1/hosts/${host.id}/test-connection`);
    expect(await test()).toMatchObject({ code: 'host.key-changed' });
    const presented = fingerprintOfLine(host.sshd.hostKey('ed25519'));
    const alert = await until('an alert', 30, () => field.alertAbout(host.id));
    expect(alert).toMatchObject({
      status: 'OPEN',
      severity: 'critical',
      facts: { presented, why: expect.stringContaining(presented) },
    });
    const messages = await until('two messages', 30, async () => {
      const all = receiver.received.map(({ body, headers }) => new Webhook(secret).verify(body, headers as never));
      const about = all.filter((message) => JSON.stringify(message).includes(host.id));
      return about.length >= 2 && about;
    });
    expect(messages).toContainEqual(
      expect.objectContaining({
        type: 'hosts.key-changed',
        data: expect.objectContaining({ presented: { fingerprint: presented, type: 'ssh-ed25519' } }),
      }),
    );
    // The same key is not reported twice.
    await test();
    const { items } = await field.ask('GET', `/v1/hosts/${host.id}/host-keys`);
    const { id } = items.find(({ state }: { state: string }) => state === 'changed');
    await field.ask('POST', `/v1/hosts/${host.id}/host-keys/${id}/accept`);
    const resolved = await until('the end of the alert', 30, async () => {
      const one = await field.alertAbout(host.id);
      return one?.status === 'RESOLVED' && one;
    });
    expect(resolved).toMatchObject({ count: 1, resolvedBy: null });
    expect(await test()).toMatchObject({ ok: true });
  });

  it('a removed key that reappeared', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    expect((await field.ended(await field.rotate(key.id, [host]))).status).toBe('DONE');
    host.sshd.authorize('deploy', key.publicKey);
    await field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [host.id] });
    const mail = await smtp.mailTo(TO, 'A removed key has reappeared');
    expect(mail.subject).toContain(key.fingerprint);
    expect(mail.text).toMatch(/Where\n {2}\S+, \/home\/deploy\/\.ssh\/authorized_keys:\d+ of deploy on host-\d/);
    expect(mail.text).toContain('A rotation removed this key from the file.');
    expect(await until('the message', 30, () => heard(2, key.id))).toMatchObject({
      type: 'alert.opened',
      data: { severity: 'critical', rule: { condition: 'drift' }, subject: { kind: 'ssh-key', name: key.fingerprint } },
    });
  });
});
