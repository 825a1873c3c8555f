import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Aiosmtpd, hasAiosmtpd } from '../fakes/aiosmtpd.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { failedScan, hurryAlerts, recordAlertEvent } from './alert-events.js';

const TO = 'security@corp.example';

describe.skipIf(!hasAiosmtpd)('a third-party mail server', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-aiosmtpd-'));
  const server = new Aiosmtpd();
  let settings: Record<string, string>;
  let stage: Stage;
  let key: string;
  let hurry: NodeJS.Timeout;

  beforeAll(async () => {
    settings = await server.start(directory);
    settings = { ...settings, SVC_ALERT_EMAIL_ENABLED: 'true', SVC_ALERT_EMAIL_TO: TO };
    stage = await openStage();
    ({ apiKey: key } = await stage.seed());
    hurry = hurryAlerts(stage);
  });
  afterAll(async () => {
    clearInterval(hurry);
    await stage.close();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  it('receives an alert over STARTTLS from the service account', async () => {
    const service = await stage.start({ settings });
    await recordAlertEvent(stage, failedScan('north'));
    const mail = await server.about('nightly scan of north');
    expect(mail).toMatchObject({ to: [TO], user: 'alerts', cipher: expect.stringMatching(/^TLS_/) });
    expect(mail.text).toContain('The host key of db1 is not the pinned one.');
    expect(mail.html).toContain('The host key of db1 is not the pinned one.');
    await service.kill();
  });

  it('rejects a wrong password, and the alert shows the reason', async () => {
    const service = await stage.start({ settings: { ...settings, SVC_SMTP_PASSWORD: 'n0t-the-Pass' } });
    await recordAlertEvent(stage, failedScan('south'));
    const failure = await until('a refusal', 30, async () => {
      const { body } = await service.call('GET', '/api/alerts?limit=200', { key });
      const alert = body.items.find((item: { subject: { id: string } }) => item.subject.id === 'south');
      if (alert === undefined) return undefined;
      const notifications = await service.call('GET', `/api/alerts/${alert.id}/notifications`, { key });
      return (notifications.body.items[0]?.failure as string | null | undefined) ?? undefined;
    });
    expect(failure).toMatch(/535/);
    expect(service.log()).not.toContain('n0t-the-Pass');
  });
});
