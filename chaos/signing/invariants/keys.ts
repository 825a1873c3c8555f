import { constants, createPublicKey, type KeyObject, verify, createHash } from 'node:crypto';
import type { Evidence, KeyRow, RequestRow } from '../evidence.js';
import type { Check, Finding } from './finding.js';

/** Invariant 7: every signature verifies with only the message and the public key. */
export const signaturesVerify: Check = ({ rows, intents, keys }: Evidence): Finding => {
  const violations: string[] = [];
  const publicKeys = new Map(
    keys.map(({ id, publicKey }) => [id, createPublicKey({ key: publicKey, format: 'der', type: 'spki' })]),
  );
  const signed = rows.filter(({ signature }) => signature !== null);
  for (const row of signed) {
    const intent = intents.get(row.reference);
    const key = publicKeys.get(row.keyId);
    if (intent === undefined || key === undefined) violations.push(`${row.id}: no known message or key`);
    else if (!row.digest.equals(intent.digest)) violations.push(`${row.id}: the digest is not that of the message`);
    else if (!isGood(row, intent.message, key)) violations.push(`${row.id}: the signature does not verify`);
  }
  const schemes = [...Map.groupBy(signed, ({ scheme }) => scheme)];
  return {
    id: '7',
    title: "each signature verifies outside the HSM over the client's own message (node:crypto)",
    figures: schemes.map(([scheme, of]) => `${scheme} ${of.length}`).join(', '),
    violations,
  };
};

function isGood({ algorithm, scheme, signature }: RequestRow, message: Buffer, key: KeyObject): boolean {
  if (scheme === 'ml-dsa')
    return signature !== null && verify(null, createHash(algorithm).update(message).digest(), key, signature);
  const options = {
    'rsa-pkcs1v15': { key, padding: constants.RSA_PKCS1_PADDING },
    'rsa-pss': { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    'ecdsa-der': { key, dsaEncoding: 'der' as const },
    'ecdsa-raw': { key, dsaEncoding: 'ieee-p1363' as const },
  };
  return signature !== null && verify(algorithm, message, options[scheme], signature);
}

/** Invariant 8: the signature was created by the requested key, and the key was allowed to sign. */
export const rightKey: Check = (evidence): Finding => {
  const { rows, keys, operations } = evidence;
  const keyById = new Map(keys.map((key) => [key.id, key]));
  const wrong = rows.flatMap((row) =>
    wrongUse(evidence, row, keyById.get(row.keyId)).map((what) => `${row.id}: ${what}`),
  );
  const calls = [...operations.byIntent.values()].flat().length;
  return {
    id: '8',
    title: 'the key used is the key that was named, and it is ACTIVE',
    figures: `${rows.length} requests, CKA_ID of ${calls} journal lines, ${keys.length} keys`,
    violations: [...wrong, ...keys.flatMap((key) => wrongState(evidence, key))],
  };
};

function wrongUse({ intents, operations }: Evidence, row: RequestRow, key: KeyRow | undefined): string[] {
  const intent = intents.get(row.reference);
  if (intent === undefined || key === undefined) return ['no known request or key'];
  const foreign = (operations.byIntent.get(row.reference) ?? []).filter((entry) => entry.key !== key.ckaId);
  const asOrdered = row.algorithm === intent.algorithm && row.scheme === intent.scheme;
  return [
    ...(row.keyName === intent.key && key.name === intent.key ? [] : [`${intent.key} was named, not ${key.name}`]),
    ...(asOrdered ? [] : ['another algorithm or scheme than ordered']),
    ...(foreign.length === 0 ? [] : ['C_Sign was called with a key of another CKA_ID']),
  ];
}

/** Returns violations of the key's states: a key becomes ACTIVE once, before its first request, and stays ACTIVE. */
function wrongState({ entries, rows }: Evidence, { id, name, state }: KeyRow): string[] {
  const of = entries.filter(({ targetKind, targetId }) => targetKind === 'signing-key' && targetId === id);
  const story = of.map(({ action }) => action).join(', ');
  const users = new Set(rows.filter(({ keyId }) => keyId === id).map((row) => row.id));
  const first = entries.find(({ action, targetId }) => action === 'signing.accepted' && users.has(targetId));
  const early = first !== undefined && first.committed < (of.at(-1)?.committed ?? 0n);
  if (state === 'ACTIVE' && story === 'signing-key.requested, signing-key.generated' && !early) return [];
  return [`key ${name} is ${state} after ${story}${early ? ', and was used before' : ''}`];
}

/** Invariant 16: private keys cannot leave the token, according to their attributes at generation and now. */
export const keysStay: Check = ({ keys, token }: Evidence): Finding => {
  const violations: string[] = [];
  for (const { name, evidence, ckaId } of keys) {
    if (!vouched(evidence)) violations.push(`key ${name}: the stored evidence does not vouch for it`);
    const inToken = token.filter((key) => key.ckaId === ckaId);
    if (inToken.length !== 1) violations.push(`key ${name}: ${inToken.length} private keys of its CKA_ID in the token`);
  }
  for (const key of token) {
    const { ckaId, sensitive, extractable, alwaysSensitive, neverExtractable } = key;
    if (!sensitive || extractable || !alwaysSensitive || !neverExtractable)
      violations.push(`private key ${ckaId} is not sensitive or may be extracted`);
    for (const attempt of ['readValue', 'makeExtractable', 'makeInsensitive'] as const) {
      if (!key[attempt].startsWith('CKR_'))
        violations.push(`private key ${ckaId}: ${attempt} answered ${key[attempt]}`);
    }
  }
  const said = new Set(
    token.flatMap(({ readValue, makeExtractable, makeInsensitive }) => [readValue, makeExtractable, makeInsensitive]),
  );
  return {
    id: '16',
    title: 'private keys are sensitive and cannot be read, changed or extracted',
    figures: `${token.length} private keys read back; reading and changing answered ${[...said].join(', ')}`,
    violations,
  };
};

function vouched({ local, sensitive, extractable, alwaysSensitive, neverExtractable }: KeyRow['evidence']): boolean {
  return local && sensitive && !extractable && alwaysSensitive && neverExtractable;
}
