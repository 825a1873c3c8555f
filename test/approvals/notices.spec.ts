import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SmtpPeer } from '../fakes/smtp.js';
import { WebReceiver } from '../fakes/web-receiver.js';
import { accessToken } from '../support/access.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import { type Approver, held, newApprover, newTeam, newGuardedKey, type ApprovalFixture, vote } from './approvers.js';

const smtp = new SmtpPeer();
const receiver = new WebReceiver();
let place: ApprovalFixture;
let settings: Record<string, string>;
let secret: string;
let desk: string;
let adminEmail: string;
let ada: Approver;
let ben: Approver;

beforeAll(async () => {
  await smtp.start();
  await receiver.start();
  const stage = await openStage();
  const seeded = await stage.seed();
  ({ adminEmail } = seeded);
  settings = { ...smtp.settings, SVC_OUTBOUND_ALLOW: '127.0.0.1/32', SVC_PUBLIC_URL: 'https://sign.example.org' };
  place = { stage, apiKey: seeded.apiKey, service: await stage.start({ settings }) };
  const body = { name: 'desk', url: `http://127.0.0.1:${receiver.port}/desk`, events: ['approval.*'] };
  const made = await place.service.call('POST', '/api/webhooks', { key: place.apiKey, body });
  ({ secret, id: desk } = made.body);
  ({ ada, ben } = await newTeam(place, 'ada', 'ben'));
});
afterAll(async () => {
  await place.stage.close();
  await smtp.stop();
  await receiver.stop();
});

interface Message {
  readonly type: string;
  readonly data: Record<string, unknown>;
}

/** Waits until the endpoint receives a message about the approval, and returns the message. The published library verifies each message. */
async function told(approvalId: string, type: string): Promise<Message> {
  return until(`the message ${type}`, 30, async () =>
    receiver.received
      .map(({ body, headers }) => new Webhook(secret).verify(body, headers as Record<string, string>) as Message)
      .find((message) => message.type === type && message.data['approvalId'] === approvalId),
  );
}

const ask = (key: string, filename: string) =>
  held(place, { digest: digestOf(randomUUID()), key, metadata: { filename } });
const mailsTo = (address: string, about: string) =>
  smtp.received.filter((mail) => mail.to === address && mail.subject.includes(about));

it('approvers are notified of a request, and everybody of the outcome', async () => {
  const { key } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 1 }]);
  const { requestId, approvalId } = await ask(key.name, 'asked.bin');
  for (const { email } of [ada, ben]) {
    const { text } = await smtp.mailTo(email, 'Approval needed: Sign asked.bin');
    expect(text).toContain(`https://sign.example.org/approvals/${approvalId}`);
    expect(text).toMatch(/Approvers: 1 of group-/);
    // An API key can have the same name as a person.
    expect(text).toMatch(/Requested by: \S.* \(a program, not a person; ID [0-9a-f-]{36}\)\n/);
  }
  const { data } = await told(approvalId, 'approval.requested');
  expect(data).toMatchObject({ status: 'PENDING', subject: { kind: 'signing-request', id: requestId }, threshold: 1 });
  await vote(place.service, approvalId, ada);
  for (const email of [ada.email, ben.email, adminEmail]) await smtp.mailTo(email, 'Approved: Sign asked.bin');
  expect((await told(approvalId, 'approval.approved')).data).toMatchObject({ status: 'APPROVED' });
  expect(mailsTo(adminEmail, 'Approval needed')).toEqual([]);
  // The delivery log is visible to more people than the approval.
  const { body } = await place.service.call('GET', `/api/webhooks/${desk}/deliveries`, { key: place.apiKey });
  expect(body.items.length).toBeGreaterThan(1);
  for (const { type, body: message } of body.items)
    expect([type, message]).toEqual([expect.stringMatching(/^approval\./), '']);
});

it('a member who lost the role is not notified', async () => {
  const { lena } = await newTeam(place, 'lena');
  const { key } = await newGuardedKey(place, [{ members: [ada, lena], threshold: 1 }]);
  const path = `/api/settings/users/${lena.id}`;
  const lowered = await place.service.call('PATCH', path, { key: place.apiKey, body: { roles: ['viewer'] } });
  expect(lowered.status).toBe(200);
  const { approvalId } = await ask(key.name, 'secret.bin');
  await smtp.mailTo(ada.email, 'Approval needed: Sign secret.bin');
  expect(mailsTo(lena.email, 'secret.bin')).toEqual([]);
  await vote(place.service, approvalId, ada);
});

it('the next stage is notified after the first; people who voted are not notified again', async () => {
  const stages = [
    { members: [ada], threshold: 1 },
    { members: [ada, ben], threshold: 1 },
  ];
  const { key } = await newGuardedKey(place, stages);
  const { approvalId } = await ask(key.name, 'staged.bin');
  await smtp.mailTo(ada.email, 'Approval needed: Sign staged.bin');
  expect(mailsTo(ben.email, 'staged.bin')).toEqual([]);
  await vote(place.service, approvalId, ada);
  await smtp.mailTo(ben.email, 'Approval needed: Sign staged.bin');
  await vote(place.service, approvalId, ben, { decision: 'reject', body: { comment: 'no' } });
  await smtp.mailTo(adminEmail, 'Rejected: Sign staged.bin');
  expect(mailsTo(ada.email, 'Approval needed: Sign staged.bin')).toHaveLength(1);
  await told(approvalId, 'approval.rejected');
});

it('people who have not voted are reminded once at half time; then the approval expires', async () => {
  const { key } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 2 }]);
  const { approvalId } = await ask(key.name, 'slow.bin');
  await vote(place.service, approvalId, ada);
  // Makes the reminder due, which is normally sent halfway to the expiry, and then makes the approval expire.
  await place.stage.sql(`UPDATE approval SET remind_at = now() WHERE id = $1`, [approvalId]);
  await smtp.mailTo(ben.email, 'Approval still needed: Sign slow.bin');
  await told(approvalId, 'approval.reminder');
  expect(mailsTo(ada.email, 'still needed')).toEqual([]);
  await place.stage.sql(`UPDATE approval SET expires_at = now() WHERE id = $1`, [approvalId]);
  for (const email of [ada.email, ben.email, adminEmail]) await smtp.mailTo(email, 'Approval expired: Sign slow.bin');
  await told(approvalId, 'approval.expired');
  expect(mailsTo(ben.email, 'still needed')).toHaveLength(1);
});

it('no notice is lost while the SMTP server and a receiver are down; they are sent later', async () => {
  const { key } = await newGuardedKey(place, [{ members: [ada], threshold: 1 }]);
  await smtp.stop();
  receiver.answers(503, 200);
  const { approvalId } = await ask(key.name, 'later.bin');
  await until('a failed attempt', 30, async () => {
    const rows = await place.stage.sql(
      `SELECT 1 FROM mail_message WHERE recipient = $1 AND attempts > 0 AND failure IS NOT NULL AND sent_at IS NULL`,
      [ada.email],
    );
    return rows.length === 1;
  });
  await vote(place.service, approvalId, ada);
  await sleep(1000);
  await smtp.start();
  await smtp.mailTo(ada.email, 'Approval needed: Sign later.bin');
  await smtp.mailTo(ada.email, 'Approved: Sign later.bin');
  await told(approvalId, 'approval.requested');
});

it('a requester who is a member is notified of the outcome and is not asked', async () => {
  const boss = await newApprover(place, ['admin']);
  const { key } = await newGuardedKey(place, [{ members: [boss, ada], threshold: 1 }]);
  const token = await accessToken(place.service, boss.email, boss.password);
  const body = { digest: digestOf(randomUUID()), key: key.name, metadata: { filename: 'own.bin' } };
  const { approvalId } = (await sign(place.service, { key: token, body })).body;
  await smtp.mailTo(ada.email, 'Approval needed: Sign own.bin');
  await place.service.call('POST', `/api/v1/approvals/${approvalId}/withdraw`, { key: token });
  await smtp.mailTo(boss.email, 'Withdrawn: Sign own.bin');
  expect(mailsTo(boss.email, 'needed')).toEqual([]);
  await told(approvalId, 'approval.withdrawn');
});

it('a hundred requests produce one email per approver', async () => {
  const quiet = await newApprover(place);
  const { key } = await newGuardedKey(place, [{ members: [quiet], threshold: 1 }]);
  await place.service.kill();
  // Only an API process is running, and API processes do not send notices. All notices are therefore pending when the worker starts.
  place = { ...place, service: await place.stage.start({ role: 'api', settings }) };
  const asked: Awaited<ReturnType<typeof ask>>[] = [];
  while (asked.length < 100) asked.push(await ask(key.name, `many-${asked.length}.bin`));
  await place.stage.start({ role: 'worker', settings });
  const { subject, text } = await smtp.mailTo(quiet.email, 'Approval needed');
  expect(subject).toBe('Approval needed: 100 requests');
  for (const { approvalId } of asked) expect(text).toContain(`/approvals/${approvalId}`);
  for (const { approvalId } of asked) await told(approvalId, 'approval.requested');
  expect(mailsTo(quiet.email, 'Approval needed')).toHaveLength(1);
});

it('approvers get no more emails about requests from a person who keeps withdrawing them', async () => {
  const boss = await newApprover(place, ['admin']);
  const { key } = await newGuardedKey(place, [{ members: [ada, ben], threshold: 1 }]);
  const token = await accessToken(place.service, boss.email, boss.password);
  const asked = async (filename: string): Promise<string> => {
    const body = { digest: digestOf(randomUUID()), key: key.name, metadata: { filename } };
    return (await sign(place.service, { key: token, body })).body.approvalId;
  };
  for (let turn = 0; turn <= 20; turn += 1) {
    const path = `/api/v1/approvals/${await asked(`withdrawn-${turn}.bin`)}/withdraw`;
    expect((await place.service.call('POST', path, { key: token })).status).toBe(200);
  }
  const approvalId = await asked('muted.bin');
  await told(approvalId, 'approval.requested');
  await vote(place.service, approvalId, ada);
  await smtp.mailTo(ben.email, 'Approved: Sign muted.bin');
  expect(mailsTo(ben.email, 'Approval needed: Sign muted.bin')).toEqual([]);
});
