import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hurryAlerts } from '../alerts/alert-events.js';
import { SmtpPeer } from '../fakes/smtp.js';
import { WebReceiver } from '../fakes/web-receiver.js';
import { SshFleet } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { canRunSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const TO = 'ssh-team@corp.example';
const PATH = '/rotations';

describe.runIf(canRunSshd())('what happens to SSH keys on hosts reaches people', () => {
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
    ({ secret } = await field.ask('POST', '/api/webhooks', { name: 'desk', url, events: ['alert.*'] }));
    hurry = hurryAlerts(stage);
  });
  afterAll(async () => {
    clearInterval(hurry);
    await field.close();
    await stage.close();
    await receiver.stop();
    await smtp.stop();
  });

  /** The message about this subject, verified as its receiver would. */
  const heard = async (count: number, subject: string) => {
    const calls = await receiver.calls(PATH, count, 30);
    const messages = calls.map(({ body, headers }) => new Webhook(secret).verify(body, headers as never));
    return messages.find((message) => (message as { data: { subject: { id: string } } }).data.subject.id === subject);
  };

  it('a rotation that needs a person', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const file = join(host.sshd.home('deploy'), '.ssh/authorized_keys');
    appendFileSync(file, '# Managed by Puppet, do not edit\n');
    const id = await field.rotate(key.id, [host]);
    expect((await field.ended(id)).status).toBe('HALTED');
    const mail = await smtp.mailTo(TO, `rotation of ${key.fingerprint}`);
    expect(mail.subject).toBe(`[critical] A key rotation needs a person: rotation of ${key.fingerprint}`);
    expect(mail.text).toMatch(/Where\n {2}rotation of \S+, host-\d/);
    expect(mail.text).toMatch(/What to do\n {2}Open the rotation/);
    expect(await heard(1, id)).toMatchObject({
      type: 'alert.opened',
      data: { severity: 'critical', rule: { condition: 'rotation-critical' }, subject: { kind: 'ssh-rotation' } },
    });
  });

  it('a removed key that is back', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    expect((await field.ended(await field.rotate(key.id, [host]))).status).toBe('DONE');
    host.sshd.authorize('deploy', key.publicKey);
    await field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [host.id] });
    const mail = await smtp.mailTo(TO, 'A key that was removed is back');
    expect(mail.subject).toContain(key.fingerprint);
    expect(mail.text).toMatch(/Where\n {2}\S+, \/home\/deploy\/\.ssh\/authorized_keys:\d+ of deploy on host-\d/);
    expect(mail.text).toContain('A rotation removed this key from there.');
    expect(await heard(2, key.id)).toMatchObject({
      type: 'alert.opened',
      data: { severity: 'critical', rule: { condition: 'drift' }, subject: { kind: 'ssh-key', name: key.fingerprint } },
    });
  });
});
