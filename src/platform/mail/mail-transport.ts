import { createTransport, type Transporter } from 'nodemailer';
import type { Config } from '../config/config.js';

const PATIENCE_MS = 10_000;

/** The way to the SMTP server of the settings. */
export function newMailTransport(config: Config): Transporter {
  const { smtpHost: host, smtpPort: port, smtpUsername: user, smtpPassword: pass, smtpTls } = config;
  return createTransport({
    host,
    port,
    secure: port === 465,
    requireTLS: smtpTls === 'required',
    ignoreTLS: smtpTls === 'never',
    ...(user === '' ? {} : { auth: { user, pass } }),
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
