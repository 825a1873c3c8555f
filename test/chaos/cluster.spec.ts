import { describe, expect, it } from 'vitest';
import type { Call } from '../../chaos/cluster/clients.js';
import { stretchesOf5xx } from '../../chaos/cluster/outages.js';
import { judge } from '../../chaos/cluster/verdict.js';

const call = (node: 1 | 2 | 3, came: number, status: number): Call => ({
  node,
  sent: came - 1,
  came,
  status,
  code: '',
});
const SIGNED = { id: 'a', reference: 'cluster-1', status: 'SIGNED', signature: 'c2ln', signed: 1 };
const DOCUMENT = { name: 'cluster-2', documents: 1, places: 1 };

describe('a period of 5xx responses of an api', () => {
  it('lasts from its first to its last such response, separately for each api', () => {
    const calls = [call(1, 0, 200), call(1, 1000, 503), call(2, 1500, 200), call(1, 4000, 503), call(1, 5000, 200)];
    expect(stretchesOf5xx(calls, [])).toEqual([{ node: 1, from: 1000, seconds: 3 }]);
  });

  it('is not ended by a call without a response, and counts if it never ends', () => {
    expect(stretchesOf5xx([call(1, 0, 500), call(1, 1000, 0), call(1, 9000, 503)], [])).toEqual([
      { node: 1, from: 0, seconds: 9 },
    ]);
  });

  it('excludes responses while the api was cut off', () => {
    const calls = [call(1, 0, 503), call(1, 20_000, 503), call(1, 22_000, 503), call(1, 23_000, 200)];
    const [longest] = stretchesOf5xx(calls, [{ node: 1, from: 0, to: 21_000 }]);
    expect(longest).toEqual({ node: 1, from: 22_000, seconds: 0 });
  });
});

describe('the verdict on acknowledged calls', () => {
  const acknowledged = [
    { name: 'cluster-1', kind: 'sign' as const, ids: new Set(['a']), signatures: new Set(['c2ln']), sent: 0, came: 1 },
    {
      name: 'cluster-2',
      kind: 'push' as const,
      ids: new Set<string>(),
      signatures: new Set<string>(),
      sent: 0,
      came: 1,
    },
  ];
  const verdict = (requests: object[], documents: object[]) =>
    judge({ sql: async (text) => (text.includes('inventory_source') ? documents : requests) as never[] }, acknowledged);

  it('reports nothing if everything exists once', async () => {
    expect(await verdict([SIGNED], [DOCUMENT])).toEqual({ requests: 1, documents: 1, lost: [], twice: [] });
  });

  it.each([
    ['a request without a row', [], [DOCUMENT]],
    ['a request that is not signed', [{ ...SIGNED, status: 'QUEUED' }], [DOCUMENT]],
    ['another signature', [{ ...SIGNED, signature: 'eA==' }], [DOCUMENT]],
    ['another request in its place', [{ ...SIGNED, id: 'b' }], [DOCUMENT]],
    ['a document that is gone', [SIGNED], []],
    ['a document without its asset', [SIGNED], [{ ...DOCUMENT, places: 0 }]],
  ])('reports calls lost: %s', async (_what, requests, documents) => {
    const { lost, twice } = await verdict(requests, documents);
    expect([lost.length > 0, twice]).toEqual([true, []]);
  });

  it.each([
    ['two rows for one key', [SIGNED, { ...SIGNED, id: 'b' }], [DOCUMENT]],
    ['two signatures in the audit log', [{ ...SIGNED, signed: 2 }], [DOCUMENT]],
    ['a document twice', [SIGNED], [{ ...DOCUMENT, documents: 2 }]],
  ])('reports calls twice: %s', async (_what, requests, documents) => {
    const { lost, twice } = await verdict(requests, documents);
    expect([lost, twice.length]).toEqual([[], 1]);
  });
});
