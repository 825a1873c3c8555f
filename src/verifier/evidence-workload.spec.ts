import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { jwkThumbprint, type PublicJwk } from '../formats/encoding/json-web-key.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import type { EvidenceFile, LoggedFact } from './evidence-file.js';
import { faultsOfWorkload, unsaidOfWorkload } from './evidence-workload.js';

type Workload = NonNullable<EvidenceFile['workload']>;

const CLAIMS = {
  iss: 'https://issuer.example',
  sub: 'repo:org/app',
  repository: 'org/app',
  run_id: 17,
  exp: 1_900_000_000,
};
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');

let workload: Workload;
let other: { token: string; key: PublicJwk };

async function made(claims = CLAIMS): Promise<{ token: string; key: PublicJwk }> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey);
  const { kty, n = '', e = '' } = await exportJWK(publicKey);
  return { token, key: { kty: kty ?? '', n, e } };
}

beforeAll(async () => {
  const { token, key } = await made();
  const identity = {
    id: 'run',
    trust: { id: 'trust', name: 'app releases' },
    claims: CLAIMS,
    tokenSha256: sha256(token.slice(0, token.lastIndexOf('.'))),
    keyThumbprint: jwkThumbprint(key) ?? '',
  };
  workload = { identity, token, key };
  other = await made();
});

/** Returns an evidence file with this workload. The request's log entry contains the hash of the unchanged identity. */
function file(changed: Workload | undefined, shown?: unknown): [EvidenceFile, LoggedFact[]] {
  const detail = { identitySha256: sha256(canonicalJson(workload.identity)) };
  const fact = { action: 'signing.accepted', actor: { id: 'run' }, target: { id: 'request' }, detail };
  const approval = shown === undefined ? {} : { approval: { shown: { verified: shown } } };
  return [{ request: { requestId: 'request' }, workload: changed, ...approval } as unknown as EvidenceFile, [fact]];
}

describe('the workload identity in an evidence file', () => {
  it('is valid with the token that the issuer signed, and when people approved exactly this identity', () => {
    expect(faultsOfWorkload(...file(workload))).toEqual([]);
    expect(faultsOfWorkload(...file(workload, workload.identity))).toEqual([]);
  });

  it('is valid without the token based on the log alone, which is reported', () => {
    const { token: _token, ...early } = workload;
    const evidence = file({ ...early, tokenFrom: '2027-03-01T12:05:00.000Z' });
    expect(faultsOfWorkload(...evidence)).toEqual([]);
    expect(unsaidOfWorkload(evidence[0])).toEqual([expect.stringContaining('2027-03-01T12:05:00.000Z')]);
    expect(unsaidOfWorkload(file(workload)[0])).toEqual([]);
  });

  it('cannot be omitted, nor added to a request of another caller', () => {
    expect(faultsOfWorkload(...file(undefined))).toEqual(['the workload identity is missing']);
    const [evidence] = file(workload);
    expect(faultsOfWorkload(evidence, [])).toEqual(['the log has a different workload identity, or none']);
  });

  it('cannot differ from the log', () => {
    const identity = { ...workload.identity, claims: { ...CLAIMS, repository: 'org/other' } };
    expect(faultsOfWorkload(...file({ ...workload, identity }))).toEqual([
      'the log has a different workload identity, or none',
    ]);
  });

  it('cannot differ from what people approved', () => {
    const identity = { ...workload.identity, claims: { ...CLAIMS, repository: 'org/other' } };
    expect(faultsOfWorkload(...file(workload, identity))).toEqual(['the approvers were shown a different identity']);
  });

  it('is invalid with another token, key or signature', () => {
    expect(faultsOfWorkload(...file({ ...workload, token: other.token, key: other.key }))).toEqual([
      'the key in the file is not the key that verified the token',
    ]);
    expect(faultsOfWorkload(...file({ ...workload, token: other.token }))).toEqual([
      "the token is not signed with the issuer's key",
    ]);
    const [head, body] = (workload.token ?? '').split('.');
    expect(faultsOfWorkload(...file({ ...workload, token: `${head}.${body}.AAAA` }))).toEqual([
      "the token is not signed with the issuer's key",
    ]);
    expect(faultsOfWorkload(...file({ ...workload, token: 'x' }))).toEqual(['the workload identity cannot be parsed']);
  });

  it('is invalid if its claims differ from the token', async () => {
    const { token, key } = await made({ ...CLAIMS, repository: 'org/evil' });
    expect(faultsOfWorkload(...file({ ...workload, token, key }))).toEqual(
      expect.arrayContaining([
        'the log has a different workload token',
        "the token's claims differ from the claims in the file",
      ]),
    );
  });
});
