import { afterAll, beforeAll, expect, it } from 'vitest';
import { SmtpPeer } from '../fakes/smtp.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { failedScan, hurryAlerts, recordAlertEvent } from './alert-events.js';

const TO = 'crypto-team@corp.example';
/** Delay caused by a spam filter or tarpit. Sending one email incurs four such delays, which add up to more than the lease duration. */
const PAUSE_MS = 12_000;
const smtp = new SmtpPeer();
let stage: Stage;
let hurry: NodeJS.Timeout;

beforeAll(async () => {
  await smtp.start({ pauseMs: PAUSE_MS });
  stage = await openStage();
  await stage.seed();
  const settings = { ...smtp.settings, SVC_ALERT_EMAIL_ENABLED: 'true', SVC_ALERT_EMAIL_TO: TO };
  await Promise.all([stage.start({ role: 'worker', settings }), stage.start({ role: 'worker', settings })]);
  hurry = hurryAlerts(stage);
});
afterAll(async () => {
  clearInterval(hurry);
  await stage.close();
  await smtp.stop();
});

it('a mail server that is slower than the lease receives every email once', async () => {
  const subjects = ['one', 'two'];
  for (const subject of subjects) await recordAlertEvent(stage, failedScan(subject));
  const waiting = () => stage.sql(`SELECT id FROM mail_message WHERE sent_at IS NULL`);
  await until('two mails', 30, async () => (await stage.sql(`SELECT 1 FROM mail_message`)).length === 2);
  await until('all are sent', 120, async () => (await waiting()).length === 0);
  const got = smtp.received.map(({ subject }) => subject.split(' ').at(-1));
  expect([got.length, new Set(got)]).toEqual([subjects.length, new Set(subjects)]);
  expect(await stage.sql(`SELECT DISTINCT attempts FROM mail_message`)).toEqual([{ attempts: 1 }]);
});
