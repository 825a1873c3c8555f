import type { Operation } from './api-document.js';

/** Returns a generator of pseudo-random numbers in [0, 1) from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a random sample of at most `max` items. */
export function someOf<Item>(items: readonly Item[], max: number, random: () => number): Item[] {
  const drawn = items.map((item) => ({ item, place: random() })).sort((a, b) => a.place - b.place);
  return drawn.slice(0, max).map(({ item }) => item);
}

/** Hostile strings for URLs, forms and bodies. */
export const HOSTILE_TEXTS = [
  '',
  ' ',
  '\0',
  'name\0',
  'line\r\nX-Injected: yes',
  '\u001b[31mred',
  '\u202egnp.exe',
  '\ufeff',
  '\uffff',
  '🔑'.repeat(70),
  'é'.repeat(300),
  'x'.repeat(3000),
  '-1',
  '0',
  '1e3',
  '0x10',
  '2147483648',
  '99999999999999999999',
  '9'.repeat(400),
  'NaN',
  'Infinity',
  'null',
  'true',
  '[]',
  '{}',
  '{',
  '__proto__',
  'constructor',
  'toString',
  '%',
  '%00',
  '\\',
  "'; DROP TABLE user_account; --",
  '$1',
  '../../../etc/passwd',
  '${jndi:ldap://127.0.0.1/a}',
  '<script>alert(1)</script>',
  '(((((a+)+)+)+)+)$',
  `${'a'.repeat(2000)}!`,
  `${'*'.repeat(60)}b`,
  '0000-00-00',
  '2026-02-30',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '+275760-09-13T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '2026-01-01T00:00:00+99:99',
  '2026-12-31T23:59:60Z',
  'infinity',
  '0 0 30 2 *',
  '* * * * * * *',
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  'urn:uuid:01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11',
  'http://[::1',
  'https://user:password@example.org:99999/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '1.2.3.4/33',
  '::ffff:127.0.0.1',
  'a@b@c',
  '"a b"@example.org',
  'A===',
  'MAA=',
  'MIIBIjANBgkqhkiG9w0BAQEFAAOC',
  '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----',
  'ssh-ed25519 AAAA',
  'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAA/////w==',
] as const;

/** Placeholder for a number that JSON can express but JavaScript cannot; see `jsonText`. */
const TOO_LARGE = '@1e400@';

const HOSTILE_JSON: readonly unknown[] = [
  ...HOSTILE_TEXTS,
  '\ud800',
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e-7,
  2 ** 31,
  2 ** 53,
  1e21,
  1e308,
  TOO_LARGE,
  [],
  [[]],
  [null],
  ['', ''],
  Array.from({ length: 1500 }, () => 'x'),
  {},
  { '': '' },
  { a: { b: { c: null } } },
  { length: 1_000_000_000 },
  { toString: 'x', valueOf: 1 },
  JSON.parse('{"__proto__": {"admin": true}}'),
  [{ toJSON: 1 }],
];

/** Serializes to JSON, including the number that JSON.stringify cannot write. */
export function jsonText(value: unknown): string {
  return (JSON.stringify(value) ?? '').replaceAll(`"${TOO_LARGE}"`, '1e400');
}

/** A call with all its parts. */
export interface HostileCall {
  readonly operation: Operation;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Source of valid values for an operation: examples from the document, and IDs of existing resources. */
export interface GoodValues {
  /** Returns the value of a path parameter. */
  pathValue(operation: Operation, name: string): string;
  body(operation: Operation): unknown;
}

const FORM = 'application/x-www-form-urlencoded';
/** Headers that every operation reads. */
const HEADERS = [
  'accept',
  'authorization',
  'content-type',
  'cookie',
  'if-match',
  'origin',
  'range',
  'user-agent',
  'x-api-key',
  'x-forwarded-for',
  'x-request-id',
];
/** Hostile header values. */
const HOSTILE_HEADERS = [
  'Bearer',
  'Bearer sw_',
  'Bearer sw_a_b',
  'Bearer eyJhbGciOiJub25lIn0.e30.',
  'Bearer a.b.c',
  'Basic Og==',
  'Basic ====',
  'sealwright-session=01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11.x',
  'sealwright-session=.; sealwright-session=',
  'application/json; charset=utf-16',
  'application/json;',
  'multipart/form-data; boundary=x',
  'text/plain',
  '*/*;q=x',
  'W/"1", *',
  'bytes=0-0,-1,99999999999999999999-',
  'null',
];
/** Invalid or ambiguous JSON documents. */
const HOSTILE_BODIES = [
  '',
  ' ',
  '{',
  '{"a":1',
  '{"a":1,}',
  "{'a':1}",
  '\ufeff{}',
  '{}{}',
  'undefined',
  '"\\u0000"',
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
  `{"a":${'9'.repeat(5000)}}`,
  `{"a":1${',"a":1'.repeat(100)}}`,
];

const PRINTABLE = HOSTILE_TEXTS.filter((value) => /^[\x20-\x7e]*$/.test(value));

/** Builds calls with exactly one hostile value: in the path, the query, a header, or anywhere in the body. */
export function hostileCallsOf(operation: Operation, good: GoodValues): HostileCall[] {
  const names = (place: string): string[] =>
    (operation.raw.parameters ?? [])
      .filter((parameter: { in: string }) => parameter.in === place)
      .map(({ name }: { name: string }) => name);
  const address = (changed?: string, value = '') =>
    operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(name === changed ? value : good.pathValue(operation, name)),
    );
  const body = good.body(operation);
  const types = Object.keys(operation.raw.requestBody?.content ?? {});
  const json = { 'content-type': 'application/json', 'if-match': '"1"' };
  const text = body === undefined ? undefined : jsonText(body);
  const calls: Omit<HostileCall, 'operation'>[] = [
    ...names('path').flatMap((name) =>
      HOSTILE_TEXTS.map((value) => ({ path: address(name, value), headers: json, body: text })),
    ),
    ...names('path').map((name) => ({
      path: address(name, 'x').replace(/x(?=$|\/)/, '%ff'),
      headers: json,
      body: text,
    })),
    ...[...names('query'), 'unknown'].flatMap((name) =>
      [
        ...HOSTILE_TEXTS.map((value) => `${name}=${encodeURIComponent(value)}`),
        `${name}=a&${name}=b`,
        `${name}[a]=b`,
        `${name}=%ff`,
        name,
      ].map((query) => ({ path: `${address()}?${query}`, headers: json, body: text })),
    ),
    ...[...HEADERS, ...names('header')].flatMap((name) =>
      [...HOSTILE_HEADERS, ...PRINTABLE].map((value) => ({
        path: address(),
        headers: { ...json, [name.toLowerCase()]: value },
        body: text,
      })),
    ),
    ...HOSTILE_BODIES.map((value) => ({ path: address(), headers: json, body: value })),
    ...hostileBodies(body).map((value) => ({ path: address(), headers: json, body: jsonText(value) })),
    ...(types.includes(FORM) ? hostileForms(body) : []).map((form) => ({
      path: address(),
      headers: { 'content-type': FORM },
      body: form,
    })),
  ];
  const bodiless = operation.method === 'GET';
  return calls.map((call) => ({ operation, ...call, body: bodiless ? undefined : call.body }));
}

function hostileForms(body: unknown): string[] {
  const members = Object.entries((body ?? {}) as Record<string, unknown>);
  return members.flatMap(([name]) =>
    HOSTILE_TEXTS.map((value) =>
      members.map(([other, good]) => `${other}=${encodeURIComponent(other === name ? value : String(good))}`).join('&'),
    ),
  );
}

/** Returns variants of a body in which the whole body or one part is replaced by a hostile value, omitted, or extended by a member. */
function hostileBodies(body: unknown): unknown[] {
  if (body === undefined) return [];
  return placesIn(body).flatMap((place) => [
    ...HOSTILE_JSON.map((value) => changedAt(body, place, value)),
    changedAt(body, place, undefined),
    changedAt(body, [...place, 'unknown'], 'x'),
  ]);
}

type Place = readonly (string | number)[];

function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [at];
  const members = Array.isArray(value) ? value.slice(0, 1).map((item, i) => [i, item] as const) : Object.entries(value);
  return [at, ...members.flatMap(([name, member]) => placesIn(member, [...at, name]))];
}

function changedAt(value: unknown, [name, ...rest]: Place, to: unknown): unknown {
  if (name === undefined) return to;
  if (Array.isArray(value)) return value.map((item, i) => (i === name ? changedAt(item, rest, to) : item));
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  return { ...members, [name]: changedAt(members[name], rest, to) };
}
