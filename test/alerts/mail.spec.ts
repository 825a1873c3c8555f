import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mailCertificate } from '../fakes/mail-certificate.js';
import { type SecureSmtp, SmtpPeer } from '../fakes/smtp.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { failedScan, hurryAlerts, recordAlertEvent } from './alert-events.js';

const TO = 'crypto-team@corp.example';
const directory = mkdtempSync(join(tmpdir(), 'sealwright-mail-'));
const passwordFile = join(directory, 'smtp-password');
const smtp = new SmtpPeer();
let secure: SecureSmtp;
let settings: Record<string, string>;
let stage: Stage;
let service: Service;
let key: string;
let hurry: NodeJS.Timeout;

beforeAll(async () => {
  const { keyFile, certFile } = mailCertificate(directory);
  secure = {
    key: readFileSync(keyFile, 'utf8'),
    cert: readFileSync(certFile, 'utf8'),
    user: 'alerts',
    pass: 's3cret-Pass',
  };
  writeFileSync(passwordFile, secure.pass);
  await smtp.start({ secure });
  settings = {
    ...smtp.settings,
    SVC_SMTP_TLS: 'required',
    SVC_SMTP_USERNAME: secure.user,
    SVC_SMTP_PASSWORD_FILE: passwordFile,
    SVC_ALERT_EMAIL_ENABLED: 'true',
    SVC_ALERT_EMAIL_TO: TO,
    SVC_PUBLIC_URL: 'https://sealwright.corp.example',
    NODE_EXTRA_CA_CERTS: certFile,
  };
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start({ settings });
  hurry = hurryAlerts(stage, 'flood');
});
afterAll(async () => {
  clearInterval(hurry);
  await stage.close();
  await smtp.stop();
  rmSync(directory, { recursive: true });
});

const about = (subject: string) => smtp.received.filter((mail) => mail.subject.includes(subject));
const alertOf = (id: string) =>
  until(`an alert about ${id}`, 30, async () => {
    const { body } = await service.call('GET', '/api/alerts?limit=200', { key });
    return body.items.find((item: { subject: { id: string } }) => item.subject.id === id);
  });
const notifications = async (alert: string) =>
  (await service.call('GET', `/api/alerts/${alert}/notifications`, { key })).body.items;

describe.concurrent('an alert email', () => {
  it('keeps names that reporters choose on one line and without links', async () => {
    const name = 'flat\r\n\r\nWhat to do\r  Sign in at https://evil.example/f\u2028What to do';
    const event = failedScan('flat', { where: name });
    await recordAlertEvent(stage, { ...event, subject: { ...event.subject, name } });
    const mail = await smtp.mailTo(TO, 'A scan failed: flat');
    expect(mail.text.split(/[\r\n\u2028]+/).filter((line) => line.trim() === 'What to do')).toHaveLength(1);
    expect(`${mail.subject}${mail.text}${mail.html}`).not.toContain('https://evil');
  });

  it('states what, where, why and what to do, and is sent over STARTTLS with authentication', async () => {
    await recordAlertEvent(stage, failedScan('east', { host: '<script>alert(1)</script>' }));
    const mail = await smtp.mailTo(TO, 'nightly scan of east');
    expect(mail).toMatchObject({ user: 'alerts', secure: true });
    expect(mail.subject).toBe('[warning] A scan failed: nightly scan of east');
    expect(mail.text).toMatch(/What\n {2}A scan failed\n\nWhere\n {2}nightly scan of east, db1\.corp\.example:22/);
    expect(mail.text).toMatch(/Why\n {2}The host key of db1 is not the pinned one\./);
    expect(mail.text).toMatch(/What to do\n {2}Open the run/);
    const { id } = await alertOf('east');
    expect(mail.text).toContain(`https://sealwright.corp.example/alerts/${id}`);
    expect(mail.html).toContain('The host key of db1 is not the pinned one.');
    expect(mail.html).toContain('&lt;script&gt;alert(1)');
    expect(mail.html).not.toContain('<script');
    // The delivery is recorded shortly after the SMTP server accepts the email.
    const [notification] = await until('the delivery', 30, async () => {
      const items = await notifications(id);
      return items[0]?.status === 'DELIVERED' && items;
    });
    expect(notification).toMatchObject({
      reason: 'opened',
      channel: 'email',
      recipient: TO,
      attempts: 1,
      failure: null,
    });
  });

  it('is sent once for 1,000 events of the same kind, with their count', async () => {
    const counted = (count: number) =>
      until(`${count} of them`, 30, async () => {
        const alert = await alertOf('flood');
        return alert.count === count && alert;
      });
    const toldIn = (time: string) =>
      stage.sql(`UPDATE alert SET notify_at = now() + $1::interval WHERE subject_id = 'flood'`, [time]);
    await recordAlertEvent(stage, failedScan('flood'), 600);
    await counted(600);
    // Postpones the notification beyond the usual five seconds, so that the remaining events are recorded before the email is sent, even on a slow machine.
    await toldIn('1 minute');
    await recordAlertEvent(stage, failedScan('flood'), 400);
    await counted(1000);
    await toldIn('0 seconds');
    const mail = await smtp.mailTo(TO, 'nightly scan of flood');
    expect(mail.subject).toContain('(1,000 times)');
    expect(mail.text).toContain('1,000 times from ');
    await recordAlertEvent(stage, failedScan('flood'), 50);
    expect((await counted(1050)).status).toBe('OPEN');
    // The next email is sent only after the cool-down.
    expect(about('flood')).toHaveLength(1);
    await stage.sql(`UPDATE alert SET notify_at = now() WHERE notify_at > now() + interval '50 minutes'`);
    const again = await until('the second mail', 30, async () => about('flood')[1]);
    expect(again.subject).toBe('[warning] Still: A scan failed: nightly scan of flood (50 times)');
  });

  it('has a single-line subject, whatever the name of the subject', async () => {
    await recordAlertEvent(stage, {
      ...failedScan('x'),
      subject: { kind: 'host', id: 'crlf', name: 'a\r\nBcc: thief@evil.example' },
    });
    const mail = await smtp.mailTo(TO, 'Bcc: thief');
    expect(mail.to).toBe(TO);
    expect(mail.subject).not.toMatch(/[\r\n]/);
  });
});

describe('while the mail server is unavailable', () => {
  it('nothing is lost, nothing else slows down, and the log contains the reason for the delay', async () => {
    await smtp.stop();
    await Promise.all(Array.from({ length: 20 }, (_, i) => recordAlertEvent(stage, failedScan(`away ${i}`))));
    const alert = await alertOf('away 19');
    await until('an attempt that failed', 30, async () => (await notifications(alert.id))[0]?.failure ?? false);
    expect((await notifications(alert.id))[0]).toMatchObject({
      status: 'PENDING',
      failure: expect.stringMatching(/ECONNREFUSED|connect/i),
    });
    const began = performance.now();
    for (let i = 0; i < 20; i += 1) expect((await service.call('GET', '/api/alerts', { key })).status).toBe(200);
    expect((performance.now() - began) / 20).toBeLessThan(1000);
    await smtp.start({ secure });
    await stage.sql(`UPDATE mail_message SET next_try_at = now() WHERE sent_at IS NULL`);
    await until('all twenty', 30, async () => about('away').length >= 20);
    const ids = about('away').map(({ messageId }) => messageId);
    expect([ids.length, new Set(ids).size]).toEqual([20, 20]);
  });

  it('emails that expire first are sent first when it is back', async () => {
    await smtp.stop();
    await Promise.all(Array.from({ length: 6 }, (_, i) => recordAlertEvent(stage, failedScan(`later ${i}`))));
    const unsent = async () => (await stage.sql(`SELECT id FROM mail_message WHERE sent_at IS NULL AND subject LIKE '%later%' AND attempts > 0`)).length; // prettier-ignore
    await until('a try of each', 60, async () => (await unsent()) === 6);
    await stage.sql(
      `UPDATE mail_message SET next_try_at = now() - interval '1 hour', expires_at = expires_at - CASE WHEN subject LIKE '%later 5' THEN interval '1 day' ELSE interval '0' END
       WHERE sent_at IS NULL`,
    );
    await smtp.start({ secure });
    await until('all of them', 30, async () => about('later').length >= 6);
    expect(about('later')[0]?.subject).toContain('later 5');
  });

  it('because of a wrong password, no log contains it, and a corrected password file is used without a restart', async () => {
    writeFileSync(passwordFile, 'wr0ng-Pass');
    await recordAlertEvent(stage, failedScan('unknown'));
    const alert = await alertOf('unknown');
    const line = await until('a refusal', 30, async () => (await notifications(alert.id))[0]?.failure ?? false);
    expect(line).toMatch(/535/);
    expect(service.log()).not.toMatch(/wr0ng-Pass|s3cret-Pass/);
    writeFileSync(passwordFile, secure.pass);
    await stage.sql(`UPDATE mail_message SET next_try_at = now() WHERE sent_at IS NULL`);
    await smtp.mailTo(TO, 'nightly scan of unknown');
  });
});

it('events are counted once each, even if the worker dies between them', async () => {
  const write = async () => {
    for (let i = 0; i < 20; i += 1) await recordAlertEvent(stage, failedScan('killed'), 25);
  };
  const written = write();
  for (let i = 0; i < 3; i += 1) {
    await service.kill('SIGKILL');
    service = await stage.start({ settings });
  }
  await written;
  await until('an empty table', 30, async () => {
    const [row] = await stage.sql<{ count: number }>(`SELECT count(*)::int AS count FROM happening`);
    return row?.count === 0;
  });
  expect((await alertOf('killed')).count).toBe(500);
});
