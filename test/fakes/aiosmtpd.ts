import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../scripts/lib/ports.mjs';
import { until } from '../support/signing.js';
import { mailCertificate } from './mail-certificate.js';

/** Debian's aiosmtpd package is installed for Debian's Python, which may not be the first Python in PATH. */
const PYTHON = ['/usr/bin/python3', 'python3'].find(
  (python) => spawnSync(python, ['-c', 'import aiosmtpd']).status === 0,
);
export const hasAiosmtpd = PYTHON !== undefined;

export interface TakenMail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly user: string;
  /** Cipher suite of the TLS connection. */
  readonly cipher: string;
}

const [USER, PASSWORD] = ['alerts', 'an0ther-Pass'];

/** aiosmtpd, an SMTP implementation independent of the service's SMTP client and the library that the client uses. */
export class Aiosmtpd {
  readonly mails: TakenMail[] = [];
  private child: ChildProcess | undefined;

  /** Starts the server and returns the settings that let the service send email to it. Writes the server's certificate to the directory. */
  async start(directory: string): Promise<Record<string, string>> {
    const { keyFile, certFile } = mailCertificate(directory);
    const port = await freePort();
    const script = join(import.meta.dirname, 'aiosmtpd-server.py');
    const child = spawn(PYTHON ?? '', [script, String(port), certFile, keyFile, USER, PASSWORD], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child = child;
    const lines = createInterface(child.stdout);
    const ready = once(lines, 'line');
    lines.on('line', (line) => {
      const told = JSON.parse(line) as TakenMail | 'ready';
      if (told !== 'ready') this.mails.push(told);
    });
    await ready;
    return {
      SVC_SMTP_HOST: '127.0.0.1',
      SVC_SMTP_PORT: String(port),
      SVC_SMTP_TLS: 'required',
      SVC_SMTP_USERNAME: USER,
      SVC_SMTP_PASSWORD: PASSWORD,
      SVC_MAIL_FROM: 'Sealwright <no-reply@sealwright.example>',
      NODE_EXTRA_CA_CERTS: certFile,
    };
  }

  about(subject: string): Promise<TakenMail> {
    return until(`a mail about "${subject}"`, 30, async () =>
      this.mails.find((mail) => mail.subject.includes(subject)),
    );
  }

  async stop(): Promise<void> {
    if (this.child === undefined) return;
    const ended = once(this.child, 'exit');
    this.child.stdin?.end();
    await ended;
  }
}
