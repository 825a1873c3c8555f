import { Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { createTransport, type Transporter } from 'nodemailer';
import { Config } from '../../platform/config/config.js';
import { CLIENT_CIPHERS } from '../../platform/outbound/tls-ciphers.js';
import { oneLine } from '../../platform/text/truncate.js';

/** Time limit for the connection, and then for the SMTP greeting, which some servers delay. */
const GREETING_MS = 60_000;
/**
 * Time limit for a response (RFC 5321 section 4.5.3.2). A server may filter an email before accepting the email. A client that gives up too early would send a
 * delivered email again (RFC 1047).
 */
const ANSWER_MS = 5 * 60_000;
/** Time limit for a response to a test email. The limit is shorter than ANSWER_MS, because a user is waiting for the result. */
const TRIAL_MS = 25_000;

/** Headers that suppress automatic replies such as absence notices (RFC 3834 section 5.1; the second header is for Microsoft Exchange). */
const OF_A_PROGRAM = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'OOF, AutoReply' };

/**
 * greetingName returns the client name for EHLO (RFC 5321 section 4.1.4): the machine's host name, or the host name in the public URL if the machine has no
 * domain name, as in a container. Servers reject nodemailer's fallback, `[127.0.0.1]`. Returns undefined if neither host name is a domain name.
 */
export function greetingName(machine: string, publicUrl: string): string | undefined {
  return [machine, new URL(publicUrl).hostname].find((name) => name.includes('.') && isIP(name) === 0);
}

/** newMailTransport returns a transport for the configured SMTP server. */
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

/** Matches enhanced status codes for an unknown recipient (RFC 3463 section 3.2, RFC 7505): mailbox, system, syntax, moved, domain without mail. */
const NOT_THERE = /^55\d[ -]5\.1\.(?:1|2|3|6|10)\b/;

/** isRecipientUnknown reports whether the server rejected the recipient as unknown. A configuration change on either side may resolve other rejections. */
export function isRecipientUnknown(error: unknown): boolean {
  const { code, response } = error as { code?: unknown; response?: unknown };
  return code === 'EENVELOPE' && typeof response === 'string' && NOT_THERE.test(response);
}

export interface MailTrialResult {
  readonly sent: boolean;
  /** Response from the SMTP server, verbatim. */
  readonly answer: string;
}

/** MailTrial sends a test email immediately, bypassing the outbox. */
@Injectable()
export class MailTrial {
  constructor(private readonly config: Config) {}

  async send(recipient: string): Promise<MailTrialResult> {
    if (!this.config.sendsMail) return { sent: false, answer: 'No SMTP server is configured. Set SVC_SMTP_HOST.' };
    const transport = newMailTransport(this.config, TRIAL_MS);
    try {
      const { response } = (await transport.sendMail({
        from: this.config.mailFrom,
        to: { name: '', address: recipient },
        subject: 'Sealwright: test email',
        text: `This is a test email from ${this.config.publicUrl}. If you received it, email delivery works.\n`,
      })) as { response: string };
      return { sent: true, answer: oneLine(response, 300) };
    } catch (error) {
      return { sent: false, answer: oneLine(error instanceof Error ? error.message : String(error), 300) };
    } finally {
      transport.close();
    }
  }
}
