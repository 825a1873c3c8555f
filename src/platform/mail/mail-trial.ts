import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { newMailTransport } from './mail-transport.js';
import { oneLine } from '../text/one-line.js';

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
    const transport = newMailTransport(this.config);
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
