import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApprovalFixture, type Approver, heldFor, newApprovers, openApprovalFixture, vote } from '../approvals/approvers.js'; // prettier-ignore
import { digestOf, until } from '../support/signing.js';

let place: ApprovalFixture;
let ada: Approver;

beforeAll(async () => {
  place = await openApprovalFixture();
  await place.stage.start({ role: 'worker' });
  [ada] = (await newApprovers(place, 1)) as [Approver];
  for (let call = 0; call < 3; call += 1) await signMany(1000);
  await until('a stored snapshot', 90, async () => (await snapshots()) === 1);
});
afterAll(() => place.stage.close());

async function signMany(count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({ digest: digestOf(`file ${i}`) }));
  const { status } = await place.service.call('POST', '/api/v1/sign/batch', { key: place.apiKey, body: { items } });
  expect(status).toBe(200);
}

async function snapshots(): Promise<number> {
  const [row] = await place.stage.sql<{ n: number }>('SELECT count(*)::int AS n FROM rights_snapshot');
  return row?.n ?? 0;
}

/** Starts another process and sends a vote to the new process. Returns 200 or the problem code. */
async function votedInNewProcess(): Promise<unknown> {
  const { approvalId } = await heldFor(place, [ada]);
  const service = await place.stage.start();
  const { status, body } = await vote(service, approvalId, ada);
  await service.kill();
  return status === 200 ? status : body.code;
}

describe('a process that starts on a long audit log', () => {
  it('reads only the entries after the stored snapshot', async () => {
    await place.stage.sql('ALTER TABLE audit_entry DISABLE TRIGGER ALL');
    await place.stage.sql(`UPDATE audit_entry SET actor_name = 'somebody else'
      WHERE id = (SELECT entry_id FROM log_leaf WHERE index = 100)`);
    expect(await votedInNewProcess()).toBe(200);
  });

  it.each([
    ['forged', `UPDATE rights_snapshot SET content = replace(content, '"people":[', '"people":[["x",{}],')`],
    ['removed', `DELETE FROM rights_snapshot`],
  ])('reads the whole log if the snapshot was %s', async (_, change) => {
    await place.stage.sql(change);
    expect(await votedInNewProcess()).toBe('audit-log.incomplete');
  });
});
