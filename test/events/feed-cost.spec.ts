import type { EntityManager } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Scope } from '../../src/access/scopes.js';
import { AuditSeals } from '../../src/audit/entries/audit-seals.js';
import type { EventName } from '../../src/events/catalogue/event-catalogue.js';
import { EventFeedReader } from '../../src/events/feed/event-feed.reader.js';
import type { EventViewer } from '../../src/events/feed/event-viewer.js';
import { Config } from '../../src/platform/config/config.js';
import { type ApprovalFixture, openApprovalFixture, unique } from '../approvals/approvers.js';
import { digestOf, until } from '../support/signing.js';

/** Number of requests, which exceeds the number of entries verified at a time (SLICE), so that a page can end before the last event. */
const COUNT = 300;
const TYPES: EventName[] = ['signing-request.signed', 'signing-request.waiting'];

/** AuditSeals that counts the verified entries. */
class CountingSeals extends AuditSeals {
  verified = 0;

  override verifies(...entry: Parameters<AuditSeals['verifies']>): boolean {
    this.verified += 1;
    return super.verifies(...entry);
  }
}

let place: ApprovalFixture;
let owner: string;
let seals: CountingSeals;
let reader: EventFeedReader;

beforeAll(async () => {
  place = await openApprovalFixture();
  const { service, apiKey, stage } = place;
  const items = Array.from({ length: COUNT }, () => ({ digest: digestOf(unique('cost')) }));
  await service.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { key: 'default', items, async: true } });
  await until('the signatures in the log', 120, async () => {
    const [row] = await stage.sql<{ count: number }>(
      `SELECT count(*)::int FROM log_leaf l JOIN audit_entry e ON e.id = l.entry_id WHERE e.action = 'signing.signed'`,
    );
    return row!.count >= COUNT;
  });
  const [request] = await stage.sql<{ owner: string }>(`SELECT owner_id AS owner FROM signing_request LIMIT 1`);
  ({ owner } = request!);
  seals = new CountingSeals(new Config(stage.settings));
  reader = new EventFeedReader(seals);
}, 300_000);
afterAll(() => place.stage.close());

/** Reads the first window of the log. Returns the number of events, and the number of entries whose seals were verified. */
const read = async (ownerId: string, scopes: Scope[], max?: number) => {
  const viewer: EventViewer = { scopes: new Set(scopes), callerId: 'x', ownerId, keys: [], groups: new Set() };
  const tx = { query: place.stage.sql } as unknown as EntityManager;
  seals.verified = 0;
  const { events } = await reader.window(tx, 0, TYPES, { viewer, ...(max === undefined ? {} : { max }) });
  return { events: events.length, verified: seals.verified };
};

describe('a page of the list of events', () => {
  it('verifies no entries about events of other owners', async () => {
    expect(await read('01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11', ['sign:read'])).toEqual({ events: 0, verified: 0 });
    const own = await read(owner, ['sign:read']);
    expect(own.events).toBe((await read('', ['sign:read', 'audit:read'])).events);
    expect(own.events).toBeGreaterThanOrEqual(COUNT);
  });

  it('stops verifying entries once it is full', async () => {
    const { events, verified } = await read(owner, ['sign:read'], 10);
    expect(events).toBeGreaterThan(10);
    // Each event is derived from two entries.
    expect(verified).toBeLessThan(2 * COUNT);
  });
});
