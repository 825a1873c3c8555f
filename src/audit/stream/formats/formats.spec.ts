import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LeafRow, logLeafOf } from '../../log/log-leaf.js';
import { canonicalJson } from '../../../platform/json/canonical-json.js';
import { cefOf } from './cef.format.js';
import { jsonOf, streamedLeaf } from './streamed-leaf.js';
import { ocsfOf } from './ocsf.format.js';
import { syslogFrame } from './syslog.format.js';

const ROW: LeafRow = {
  index: '42',
  kind: 'entry',
  entryId: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11',
  id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11',
  at: '2026-11-26T19:00:00.123456Z',
  action: 'api-key.created',
  outcome: 'done',
  actorKind: 'user',
  actorId: 'u1',
  actorName: 'Ada',
  targetKind: 'api-key',
  targetId: 'k1',
  correlation: 'r1',
  source: '192.0.2.7',
  detail: { name: 'ci' },
  record: null,
  seal: null,
};
const leafOf = (changes: Partial<LeafRow> = {}) => streamedLeaf('sign.example/log', { ...ROW, ...changes });
const frame = (changes: Partial<LeafRow> = {}, form = {}) =>
  syslogFrame(leafOf(changes), 'sign.example', { format: 'json', maxBytes: 8192, enterprise: '32473', ...form });
/** RFC 5424 section 6, as far as this service uses it; the message is the last group. */
const MESSAGE =
  /^<(\d{1,3})>1 (-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) [!-~]{1,255} sealwright - [!-~]{1,32} ((?:\[[!-~]{1,32}(?: [!-~]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*\])+) ([^]*)$/;
const messageOf = (text: string) => MESSAGE.exec(text.slice(text.indexOf(' ') + 1));
const WILD = fc.string({ unit: 'binary', maxLength: 40 });
const wildRow = fc.record({
  action: WILD,
  actorName: WILD,
  actorId: WILD,
  targetId: WILD,
  correlation: WILD,
  source: WILD,
  detail: fc.dictionary(
    fc.string({ unit: 'binary', maxLength: 5 }),
    fc.oneof(WILD, fc.string({ unit: 'binary', minLength: 3000, maxLength: 4000 })),
  ),
});

describe('a syslog message', () => {
  it('has an RFC 5424 header, the leaf index in structured data, and JSON from the first octet', () => {
    const [, priority, at, data, content = ''] = messageOf(frame()) ?? [];
    expect([priority, at]).toEqual(['110', '2026-11-26T19:00:00.123456Z']);
    expect(data).toContain('[sealwright@32473 log="sign.example/log" number="42" kind="entry" id="01945f2e-');
    expect(JSON.parse(content)).toMatchObject({
      log: 'sign.example/log',
      number: 42,
      kind: 'entry',
      entry: { action: 'api-key.created' },
    });
  });

  it('is framed by octet counting (RFC 5425)', () => {
    const text = frame({ actorName: 'Zoë 日本' }, { format: 'cef' });
    expect(Number(text.split(' ', 1)[0])).toBe(Buffer.byteLength(text.slice(text.indexOf(' ') + 1)));
  });

  it('in JSON is printable ASCII on one line, and never longer than the receiver accepts', () => {
    fc.assert(
      fc.property(wildRow, (changes) => {
        const text = frame(changes, { maxBytes: 2048 });
        const [, , , , content = ''] = messageOf(text) ?? [];
        expect(text).toMatch(/^[ -~]*$/);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048 + 5);
        expect(JSON.parse(content)).toMatchObject({ number: 42 });
      }),
      { numRuns: 40 },
    );
  });

  it('in CEF contains no control characters, and starts with a byte order mark if it is not ASCII', () => {
    fc.assert(
      fc.property(wildRow, (changes) => {
        const text = frame(changes, { format: 'cef', maxBytes: 4096 });
        const [, , , , content = ''] = messageOf(text) ?? [];
        expect(text).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
        expect(content.startsWith('\u{feff}CEF:0|')).toBe(!/^[ -~]*$/.test(content));
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096 + 5);
      }),
      { numRuns: 40 },
    );
  });

  it('replaces the detail with its digest if it would be too long', () => {
    const detail = { text: 'x'.repeat(9000) };
    const [, , , , content = ''] = messageOf(frame({ detail })) ?? [];
    const { entry } = JSON.parse(content) as { entry: { detail: unknown; action: string } };
    expect(entry).toMatchObject({
      action: 'api-key.created',
      detail: { leftOut: { bytes: 9011, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown } },
    });
  });

  it('for an entry that was removed, or that the service did not write, is an alert', () => {
    expect(messageOf(frame({ kind: null, entryId: null, at: null as never }))?.[1]).toBe('105');
    expect(messageOf(frame({ kind: 'foreign' }))?.[1]).toBe('105');
    expect(frame({ kind: null, entryId: null, at: null as never })).toContain('audit-log.missing');
  });
});

describe('JSON', () => {
  it('contains the entry whose canonical form the log hashed', () => {
    const { entry } = JSON.parse(jsonOf(leafOf({ actorName: 'Zoë\u202e', record: '{"a":1}' }))) as { entry: object };
    expect(canonicalJson(entry)).toBe(logLeafOf({ ...ROW, actorName: 'Zoë\u202e', record: '{"a":1}' }));
  });

  it('contains the signature record as a separate object', () => {
    expect(JSON.parse(jsonOf(leafOf({ kind: 'record', record: '{"a":1}' })))).toEqual({
      log: 'sign.example/log',
      number: 42,
      kind: 'record',
      entryId: ROW.id,
      record: { a: 1 },
    });
  });

  it('masks values that look like credentials, although no entry should contain one', () => {
    const detail = { url: 'https://ada:hunter22@example.com/', header: 'Bearer abc.def', mail: 'a@b' };
    for (const text of [jsonOf(leafOf({ detail })), cefOf(leafOf({ detail })), ocsfOf(leafOf({ detail }))]) {
      expect(text).not.toMatch(/hunter22|abc\.def/);
      expect(text).toContain('a@b');
    }
  });
});

describe('CEF', () => {
  it('escapes its fields', () => {
    const text = cefOf(leafOf({ action: 'a|b', actorName: 'x=y\\z\nq' }));
    expect(text).toMatch(/^CEF:0\|Sealwright\|Sealwright\|[\d.]+\|a\\\|b\|a\\\|b\|3\|rt=\d{13} externalId=/);
    expect(text).toContain(String.raw`suser=x\=y\\z\nq src=192.0.2.7 cn1Label=number cn1=42`);
  });
});

describe('OCSF', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const schema = join(import.meta.dirname, '../../../../test/audit/ocsf-1.5.0.schema.json');
  const isEvent = ajv.compile(JSON.parse(readFileSync(schema, 'utf8')) as object);
  const faultsOf = (changes: Partial<LeafRow>) => {
    isEvent(JSON.parse(ocsfOf(leafOf(changes))));
    return isEvent.errors ?? [];
  };

  it.each<[string, Partial<LeafRow>]>([
    ['a change', {}],
    ['a sign-in', { action: 'auth.signed-in' }],
    ['a refusal by an API key', { actorKind: 'api-key', outcome: 'refused', action: 'signing.refused' }],
    ['background work', { actorKind: 'system', source: '' }],
    ['a call over IPv6', { source: '2001:db8::7' }],
    ['the record of a signature', { kind: 'record', record: '{"a":1}' }],
    ['an entry that somebody else wrote', { kind: 'foreign' }],
    ['an entry that was removed', { kind: null, entryId: null, at: null as never }],
  ])('is a valid event of the published schema and class, without extra attributes: %s', (_what, changes) => {
    expect(faultsOf(changes)).toEqual([]);
  });

  it('stays valid whatever an entry contains', () => {
    fc.assert(
      fc.property(wildRow, (changes) => {
        expect(faultsOf(changes)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('contains class, activity, actor and location', () => {
    expect(JSON.parse(ocsfOf(leafOf()))).toMatchObject({
      class_uid: 6003,
      category_uid: 6,
      activity_id: 1,
      type_uid: 600301,
      status_id: 1,
      time: Date.parse(ROW.at),
      actor: { user: { uid: 'u1', name: 'Ada' } },
      api: { operation: 'api-key.created' },
      src_endpoint: { ip: '192.0.2.7' },
      metadata: { log_name: 'sign.example/log', sequence: 42, uid: ROW.id, product: { name: 'Sealwright' } },
    });
  });

  it.each([
    ['auth.signed-in', 300201],
    ['session.ended', 300202],
    ['api-key.revoked', 600304],
    ['signing.signed', 600399],
  ])('maps %s to type %s', (action, type_uid) => {
    expect(JSON.parse(ocsfOf(leafOf({ action })))).toMatchObject({ type_uid });
  });
});
