import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * Reason why editing the row of a sealed secret cannot redirect the secret to another destination. `bound`: the destination is in the seal's associated data.
 * `fixed`: the destination cannot be changed. `stays`: the secret is never sent, only used to sign, decrypt or compare. `itself`: the secret is the
 * destination.
 */
type Rule = 'bound' | 'fixed' | 'stays' | 'itself';

interface Sealed {
  /** File that seals the secret, and the number of sealing calls in the file. */
  readonly by: string;
  readonly calls: number;
  /** `entity file: property` of the sealed columns. */
  readonly columns: readonly string[];
  readonly rule: Rule;
  readonly because: string;
  /** Test that proves the rule, for secrets that are sent. */
  readonly shown?: readonly [file: string, title: string];
}

const SEALED: readonly Sealed[] = [
  {
    by: 'hosts/credentials/host-credentials.ts',
    calls: 1,
    columns: ['hosts/model/host.entity.ts: credential'],
    rule: 'bound',
    because: 'sent to address and port of the host, through its jump hosts',
    shown: ['test/hosts/credential-destination.spec.ts', 'cannot be opened when the database contains a different'],
  },
  {
    by: 'notifications/mail/mailbox.ts',
    calls: 1,
    columns: ['notifications/mail/mail-message.entity.ts: body', 'notifications/mail/mail-message.entity.ts: html'],
    rule: 'bound',
    because: 'sent to the recipient',
    shown: ['src/notifications/mail/mailbox.spec.ts', 'opens only for its intended recipient'],
  },
  {
    by: 'auth/sso/providers/identity-provider-changes.service.ts',
    calls: 1,
    columns: ['auth/model/identity-provider.entity.ts: secret'],
    rule: 'fixed',
    because:
      'sent to the token endpoint that the issuer names, and a provider keeps its issuer; the key of SAML only signs',
    shown: ['test/auth/oidc.spec.ts', 'issuer'],
  },
  {
    by: 'auth/sso/sign-in/sso-transactions.ts',
    calls: 3,
    columns: ['auth/sso/sign-in/sso.entity.ts: secrets'],
    rule: 'fixed',
    because:
      'a verifier of one attempt, sent to the provider of that attempt within ten minutes; no call changes an attempt',
  },
  {
    by: 'auth/credentials/sessions/sessions.service.ts',
    calls: 1,
    columns: ['auth/model/session.entity.ts: logoutHint'],
    rule: 'fixed',
    because: 'sent to the provider that the session came from; no call changes it',
  },
  {
    by: 'notifications/webhooks/webhook-secrets.ts',
    calls: 2,
    columns: [
      'notifications/webhooks/webhook-endpoint.entity.ts: url',
      'notifications/webhooks/webhook-endpoint.entity.ts: secret',
      'notifications/webhooks/webhook-endpoint.entity.ts: secret',
    ],
    rule: 'itself',
    because: 'the address is the secret, and another one takes its place; the other secret signs and is never sent',
  },
  {
    by: 'auth/people/second-factors/second-factors.service.ts',
    calls: 1,
    columns: ['auth/people/second-factors/second-factor.entity.ts: seed'],
    rule: 'stays',
    because: 'codes are compared with it',
  },
  {
    by: 'auth/workload/workload-exchange.service.ts',
    calls: 1,
    columns: ['auth/model/workload.entity.ts: token'],
    rule: 'stays',
    because: 'shown as evidence after it has expired, and never sent',
  },
  {
    by: 'inventory/intake/imports/import-bodies.ts',
    calls: 1,
    columns: ['inventory/intake/imports/inventory-import.entity.ts: sealed'],
    rule: 'stays',
    because: 'read by the worker that takes the document in',
  },
  {
    by: 'ssh-keys/rotation/custody/key-custody.ts',
    calls: 1,
    columns: ['ssh-keys/keys/ssh-key.entity.ts: sealed'],
    rule: 'stays',
    because: 'signs logins; a private key is not sent by one',
  },
  {
    by: 'ssh-keys/rotation/steps/step-executor.ts',
    calls: 1,
    columns: ['ssh-keys/rotation/model/rotation-target.entity.ts: snapshot'],
    rule: 'fixed',
    because:
      'authorized_keys of a target, written back there; it holds public keys, and the login needs a credential of that place',
  },
  {
    by: 'hsm/pkcs11/software-keys.ts',
    calls: 1,
    columns: ['signing/keys/signing-key-version.entity.ts: sealed'],
    rule: 'stays',
    because: 'signs in the key process',
  },
];

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));

/** Files that seal on behalf of other files or reseal existing secrets. */
const DOORS = new Set([
  'hsm/hsm-seal.ts',
  'hsm/hsm-seal.ts',
  'hsm/pkcs11/token-sealer.ts',
  'hsm/process/key-process.ts',
  'platform/sealing/resealer.ts',
  'platform/sealing/sealed-columns.ts',
]);

/** Returns the number of sealing calls by file, excluding DOORS. */
function sealingCalls(): Record<string, number> {
  const found = sources
    .filter((file) => !DOORS.has(file))
    .map((file) => [file, read(`src/${file}`)] as const)
    .filter(([, text]) => /(?:sealing\/(?:lasting-)?seal|hsm-seal|token-sealer)\.js'/.test(text))
    .map(([file, text]) => [file, (text.match(/\bseal(?:s|er)?\.(?:close|seal)\(/g) ?? []).length] as const);
  return Object.fromEntries(found.filter(([, calls]) => calls > 0));
}

/** Returns the binary columns whose comment contains the word `sealed`. */
function sealedColumns(): string[] {
  return sources
    .filter((file) => file.endsWith('.entity.ts'))
    .flatMap((file) =>
      [
        ...read(`src/${file}`).matchAll(
          /\/\*\*((?:(?!\*\/)[\s\S]){0,600})\*\/\s+@(?:Primary)?Column\('bytea'[^\n]*\)\s+(\w+)[?!]?:/g,
        ),
      ]
        .filter(([, comment]) => /\bsealed\b/i.test(comment ?? ''))
        .map(([, , name]) => `${file}: ${name}`),
    );
}

describe('every sealed secret', () => {
  it('has a rule that explains why nobody can redirect it to an address of their choice', () => {
    expect(sealingCalls()).toEqual(Object.fromEntries(SEALED.map(({ by, calls }) => [by, calls])));
    expect(sealedColumns().sort()).toEqual(SEALED.flatMap(({ columns }) => columns).sort());
  });

  it('that is bound to its destination has a test with another destination', () => {
    const unshown = SEALED.filter(({ rule, shown }) => rule === 'bound' && shown === undefined);
    const gone = SEALED.filter(({ shown }) => shown !== undefined && !read(shown[0]).includes(shown[1]));
    expect([...unshown, ...gone].map(({ by }) => by)).toEqual([]);
  });
});
