import { Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { createTransport, type Transporter } from 'nodemailer';
import { Config } from '../config/config.js';
import { CLIENT_CIPHERS } from '../outbound/tls-ciphers.js';
import { oneLine } from '../text/truncate.js';

/** From the look-up of the name to the greeting, for which some servers let clients wait. */
const GREETING_MS = 60_000;
/**
 * Longest wait for an answer (RFC 5321 section 4.5.3.2). Filters look at a mail before it is taken: who goes away meanwhile sends a mail again that was
 * delivered (RFC 1047).
 */
const ANSWER_MS = 5 * 60_000;
/** Somebody waits for the outcome of a trial. */
const TRIAL_MS = 25_000;

/** Nobody's absence is told to a program (RFC 3834 section 5.1; the second header is that of Microsoft Exchange). */
const OF_A_PROGRAM = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'OOF, AutoReply' };

/**
 * The name by which a client greets (RFC 5321 section 4.1.4): the machine's, or where that is no name of a domain, as in a container, the public one.
 * Servers refuse the name that nodemailer makes up then, `[127.0.0.1]`. Undefined where there is none.
 */
export function greetingName(machine: string, publicUrl: string): string | undefined {
  return [machine, new URL(publicUrl).hostname].find((name) => name.includes('.') && isIP(name) === 0);
}

/** The way to the SMTP server of the settings. */
export function newMailTransport(config: Config, answerMs = ANSWER_MS): Transporter {
  const { smtpHost: host, smtpPort: port, smtpUsername: user, smtpPassword: pass, smtpTls } = config;
  const options = {
    host,
    port,
    name: greetingName(hostname(), config.publicUrl),
    secure: port === 465,
    requireTLS: smtpTls === 'required',
    ignoreTLS: smtpTls === 'never',
    tls: { ciphers: CLIENT_CIPHERS },
    ...(user === '' ? {} : { auth: { user, pass } }),
    connectionTimeout: Math.min(GREETING_MS, answerMs),
    greetingTimeout: Math.min(GREETING_MS, answerMs),
    socketTimeout: answerMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  return createTransport(options, { headers: OF_A_PROGRAM });
}

/** Enhanced status codes of a recipient that is not there (RFC 3463 section 3.2, RFC 7505): mailbox, system, syntax, moved, no mail at all. */
const NOT_THERE = /^55\d[ -]5\.1\.(?:1|2|3|6|10)\b/;

/** Whether the server refused the recipient for good. Any other refusal may end when its settings or ours are put right. */
export function isRecipientUnknown(error: unknown): boolean {
  const { code, response } = error as { code?: unknown; response?: unknown };
  return code === 'EENVELOPE' && typeof response === 'string' && NOT_THERE.test(response);
}

export interface MailTrialResult {
  readonly sent: boolean;
  /** In the SMTP server's words. */
  readonly answer: string;
}

/** Sends one mail at once, past the outbox, to find out whether mails leave. */
@Injectable()
export class MailTrial {
  constructor(private readonly config: Config) {}

  async send(recipient: string): Promise<MailTrialResult> {
    if (!this.config.sendsMail) return { sent: false, answer: 'No SMTP server is set up (SVC_SMTP_HOST).' };
    const transport = newMailTransport(this.config, TRIAL_MS);
    try {
      const { response } = (await transport.sendMail({
        from: this.config.mailFrom,
        to: { name: '', address: recipient },
        subject: 'Sealwright: test',
        text: `This mail was sent from the settings of ${this.config.publicUrl} to find out whether mails leave. They do.\n`,
      })) as { response: string };
      return { sent: true, answer: oneLine(response, 300) };
    } catch (error) {
      return { sent: false, answer: oneLine(error instanceof Error ? error.message : String(error), 300) };
    } finally {
      transport.close();
    }
  }
}
