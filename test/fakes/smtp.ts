import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import { until } from '../support/signing.js';

export interface ReceivedMail {
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  /** Account used to send the email; undefined without authentication. */
  readonly user: string | undefined;
  /** Whether the email arrived over TLS. */
  readonly secure: boolean;
}

/** Account, key and certificate (PEM) of a server that accepts email only over STARTTLS and with authentication. */
export interface SecureSmtp {
  readonly key: string;
  readonly cert: string;
  readonly user: string;
  readonly pass: string;
}

interface SmtpStart {
  readonly tls?: boolean;
  readonly secure?: SecureSmtp;
  readonly pauseMs?: number;
}

/** A real SMTP server that stores received email. */
export class SmtpPeer {
  readonly received: ReceivedMail[] = [];
  private server: SMTPServer | undefined;
  private port = 0;

  /** Starts the server; a restart uses the same port. `tls` offers STARTTLS. `pauseMs` delays the greeting and each command. */
  async start({ tls = false, secure, pauseMs = 0 }: SmtpStart = {}): Promise<void> {
    const slowly = (done: (error?: Error | null) => void) => void sleep(pauseMs).then(() => done());
    const server = new SMTPServer({
      onConnect: (_session, done) => slowly(done),
      onMailFrom: (_address, _session, done) => slowly(done),
      onRcptTo: (_address, _session, done) => slowly(done),
      ...(secure === undefined
        ? { authOptional: true, disabledCommands: tls ? ['AUTH'] : ['AUTH', 'STARTTLS'] }
        : {
            key: secure.key,
            cert: secure.cert,
            authOptional: false,
            allowInsecureAuth: false,
            onAuth: ({ username, password }, _session, done) =>
              username === secure.user && password === secure.pass
                ? done(null, { user: username })
                : done(new Error('535 wrong user or password')),
          }),
      onData: (stream, session, done) => void this.keep(stream, session).then(() => slowly(done), done),
    });
    server.on('error', () => undefined);
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.server.address() as AddressInfo).port;
  }

  get settings(): Record<string, string> {
    return {
      SVC_SMTP_HOST: '127.0.0.1',
      SVC_SMTP_PORT: String(this.port),
      SVC_SMTP_TLS: 'never',
      SVC_MAIL_FROM: 'Sealwright <no-reply@sealwright.example>',
    };
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.server === undefined) resolve();
      else this.server.close(resolve);
    });
  }

  /** Waits for an email to this address whose subject contains the text. */
  mailTo(address: string, subject: string): Promise<ReceivedMail> {
    return until(`a mail to ${address} about "${subject}"`, 45, async () =>
      this.received.find((mail) => mail.to === address && mail.subject.includes(subject)),
    );
  }

  private async keep(stream: AsyncIterable<Buffer>, session: SMTPServerSession): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const mail = await PostalMime.parse(Buffer.concat(chunks));
    this.received.push({
      to: session.envelope.rcptTo.map(({ address }) => address).join(', '),
      from: mail.from?.address ?? '',
      subject: mail.subject ?? '',
      text: mail.text ?? '',
      html: mail.html ?? '',
      messageId: mail.messageId ?? '',
      user: typeof session.user === 'string' ? session.user : undefined,
      secure: session.secure,
    });
  }
}
