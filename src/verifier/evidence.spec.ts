import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { faultsOfBundle } from './evidence-bundle.js';
import { EvidenceContent } from './evidence-content.js';
import type { EvidenceFile } from './evidence-file.js';
import { examineEvidence } from './evidence-verifier.js';
import { leafHash, GrowingRoot, inclusionPath } from './merkle-tree.js';
import { noteText, signedNote } from './signed-note.js';

const newPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const der = (key: KeyObject) => key.export({ type: 'spki', format: 'der' });
const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();
const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('base64');

const log = newPair();
const signer = newPair();
const DIGEST = sha256('what is released');
const SIGNATURE = sign('sha256', Buffer.from('what is released'), signer.privateKey);
const ATTRIBUTES = { sensitive: true, neverExtractable: true };
const HASHES = { publicKeySha256: sha256(der(signer.publicKey)), attributesSha256: sha256(canonicalJson(ATTRIBUTES)) };

it('a file next to Authenticode evidence is rejected, because the signature covers only parts of it', () => {
  const request = { algorithm: 'sha256', format: 'authenticode', scheme: 'ecdsa-der', digest: DIGEST };
  const evidence = { request } as unknown as EvidenceFile;
  expect(new EvidenceContent(evidence).update(Buffer.from('anything')).faults()).toEqual([
    expect.stringContaining('verify the signed file with osslsigncode'),
  ]);
});

interface Entry {
  readonly action: string;
  readonly detail: Record<string, unknown>;
}

const accepted = (more: Record<string, unknown> = {}): Entry => ({
  action: 'signing.accepted',
  detail: {
    to: 'PROCESSING',
    attempt: 1,
    key: 'release',
    keyVersion: 1,
    algorithm: 'sha256',
    scheme: 'ecdsa-der',
    format: 'raw',
    digest: DIGEST,
    ...more,
  },
});
const claimed = (attempt: number): Entry => ({ action: 'signing.claimed', detail: { attempt } });
const released = (attempt: number): Entry => ({ action: 'signing.released', detail: { attempt } });
const signed = (attempt = 1): Entry => ({
  action: 'signing.signed',
  detail: { attempt, signatureSha256: sha256(SIGNATURE) },
});

/** Returns a complete evidence file for these log entries. */
function evidenceOf(entries: readonly Entry[]): EvidenceFile {
  const texts = entries.map((entry) =>
    canonicalJson({ ...entry, actor: { id: 'ann' }, target: { id: 'request' }, outcome: 'done' }),
  );
  const tree = new GrowingRoot();
  const hashes = texts.map((text) => leafHash(text));
  for (const hash of hashes) tree.add(hash);
  const range = ({ from, to }: { from: number; to: number }) => {
    const part = new GrowingRoot();
    for (const hash of hashes.slice(from, to)) part.add(hash);
    return part.root().toString('base64');
  };
  const checkpoint = { origin: 'log.example/log', size: texts.length, root: tree.root() };
  const note = signedNote(
    checkpoint,
    sign('sha256', Buffer.from(noteText(checkpoint)), log.privateKey),
    der(log.publicKey),
  );
  return {
    request: {
      requestId: 'request',
      digest: DIGEST,
      algorithm: 'sha256',
      scheme: 'ecdsa-der',
      format: 'raw',
      signature: SIGNATURE.toString('base64'),
    },
    key: { name: 'release', version: 1, publicKey: pem(signer.publicKey), attributes: ATTRIBUTES },
    log: {
      publicKey: der(log.publicKey).toString('base64'),
      checkpoint: note,
      leaves: texts.map((text, index) => ({
        index,
        kind: 'entry',
        data: Buffer.from(text).toString('base64'),
        path: inclusionPath(index, texts.length).map(range),
      })),
    },
  };
}

const examined = (evidence: EvidenceFile) => examineEvidence(evidence, { logKey: der(log.publicKey) });
const whole = evidenceOf([accepted(HASHES), signed()]);

describe('verification of evidence against the log', () => {
  it('finds no fault in complete evidence', () => {
    expect(examined(whole)).toEqual({ faults: [], unsaid: [] });
  });

  it('finds a fault with another public key, or with different or missing attributes', () => {
    const { key } = whole;
    const changed = (change: Partial<EvidenceFile['key']>) => examined({ ...whole, key: { ...key, ...change } }).faults;
    expect(changed({ publicKey: pem(newPair().publicKey) })).toEqual(['the log has a different public key']);
    expect(changed({ attributes: {} })).toEqual(['the log has different key attributes']);
    expect(changed({ attributes: { ...ATTRIBUTES, local: true } })).toEqual(['the log has different key attributes']);
    expect(changed({ publicKey: 'none' })).toEqual([expect.stringMatching(/^it cannot be parsed as evidence/)]);
  });

  it('finds a fault if the logged signature is not one over this digest by this key', () => {
    const other = sign('sha256', Buffer.from('something else'), signer.privateKey);
    const swapped = evidenceOf([
      accepted(HASHES),
      { action: 'signing.signed', detail: { attempt: 1, signatureSha256: sha256(other) } },
    ]);
    const request = { ...swapped.request, signature: other.toString('base64') };
    expect(examined({ ...swapped, request }).faults).toEqual(['the signature does not verify with the key']);
  });

  it('lists fields that the log of an earlier version does not contain', () => {
    const request = { ...whole.request, metadata: {}, reference: 'build-7', timestamp: 'MAA=' };
    expect(examined({ ...whole, request })).toEqual({
      faults: [],
      unsaid: [
        'the log does not contain the metadata',
        'the log does not contain the reference',
        'the log does not contain the timestamp',
      ],
    });
  });

  it('has a fault when it contains a fact that is missing from a current log', () => {
    const current = evidenceOf([accepted({ ...HASHES, keyId: 'key' }), signed()]);
    const changed = (change: object) => examined({ ...current, request: { ...current.request, ...change } });
    const verified = { claims: { repository: 'org/app' } };
    expect(changed({ verified }).faults).toEqual(['the log has no identity']);
    expect(changed({ reference: 'build-7' }).faults).toEqual(['the log has no reference']);
    expect(changed({ metadata: {} }).faults).toEqual(['the log has no metadata']);
  });

  it('lists a certificate chain as information that only the file contains', () => {
    const request = { ...whole.request, certificateChain: [] };
    expect(examined({ ...whole, request })).toEqual({
      faults: [],
      unsaid: ['the log does not contain the certificate chain'],
    });
  });

  it('has a fault with another bundle, or an entry in it that is not in the log', () => {
    const bundle = { messageSignature: { signature: 'AAAA' }, verificationMaterial: { tlogEntries: [] } };
    const signature = Buffer.from(JSON.stringify(bundle)).toString('base64');
    const with_ = (changed: object) =>
      examined({ ...whole, request: { ...whole.request, signature }, bundle: changed }).faults;
    expect(with_({ ...bundle, messageSignature: { signature: 'BBBB' } })).toContain(
      'the bundle differs from the signature',
    );
    const tlogEntries = [{ logIndex: '7', canonicalizedBody: 'e30=' }];
    expect(with_({ ...bundle, verificationMaterial: { tlogEntries } })).toContain(
      'the bundle has an entry that is not in the log',
    );
    const own = with_(bundle);
    expect(own.filter((fault) => fault.includes('bundle'))).toEqual([]);
  });

  it('has a fault with a bundle that has the log entry of another signature', () => {
    const [own, other] = ['{"record":"own"}', '{"record":"other"}'].map((text) => Buffer.from(text).toString('base64'));
    const leaf = (index: number, data = '') => ({ index, kind: 'record' as const, data, path: [] });
    const bundle = { verificationMaterial: { tlogEntries: [] } };
    const request = { ...whole.request, signature: Buffer.from(JSON.stringify(bundle)).toString('base64') };
    const evidence = { ...whole, request, log: { ...whole.log, leaves: [leaf(4, own), leaf(7, other)] } };
    const record = createHash('sha256').update('{"record":"own"}').digest('hex');
    const entry = { action: 'signing.signed', actor: { id: 'a' }, target: { id: 'request' }, detail: {}, record };
    const faults = (...tlogEntries: object[]) =>
      faultsOfBundle({ ...evidence, bundle: { verificationMaterial: { tlogEntries } } }, entry);
    const [first, second] = [
      { logIndex: '4', canonicalizedBody: own },
      { logIndex: '7', canonicalizedBody: other },
    ];
    expect(faults(first)).toEqual([]);
    for (const entries of [[second], [first, second]])
      expect(faults(...entries)).toEqual(['the bundle has the log entry of another signature']);
  });

  it('accepts evidence of an earlier version, and lists what its log does not contain', () => {
    const old = evidenceOf([accepted(), signed()]);
    const unsaid = [
      'the log does not state which public key was used',
      'the log does not state the attributes of the private key',
    ];
    expect(examined(old)).toEqual({ faults: [], unsaid });
  });

  it('requires exactly the approval in the log', () => {
    const held = evidenceOf([
      accepted({ ...HASHES, to: 'PENDING_APPROVAL', attempt: 0, approval: 'approval' }),
      { action: 'signing.approved', detail: { approval: 'approval' } },
      claimed(1),
      signed(),
    ]);
    expect(examined(held).faults).toEqual(['the approval of the request is missing']);
    const shown = { ...whole, request: { ...whole.request, approvalId: 'approval' } };
    expect(examined(shown).faults).toEqual(['the log has no approval of this request']);
    expect(examined({ ...whole, approval: { shown: {} } }).faults).toEqual(['the log has no approval of this request']);
  });

  it.each([
    ['the acceptance', [signed()], 'it has 0 acceptance entries instead of 1'],
    ['the signature', [accepted(HASHES)], 'it has 0 signature entries instead of 1'],
    ['a second acceptance', [accepted(HASHES), accepted(HASHES), signed()], 'it has 2 acceptance entries instead of 1'],
    ['a claim', [accepted({ ...HASHES, to: 'QUEUED' }), signed()], 'the start of attempt 1 is missing'],
    ['the end of an attempt', [accepted(HASHES), claimed(2), signed(2)], 'the end of attempt 1 is missing'],
    ['a later claim', [accepted(HASHES), released(1), signed(2)], 'the start of attempt 2 is missing'],
    [
      'the release',
      [accepted({ ...HASHES, to: 'PENDING_APPROVAL', approval: 'x' }), claimed(1), signed()],
      'the release by the approval is missing',
    ],
  ])('finds evidence incomplete without %s', (_what, entries, fault) => {
    expect(examined(evidenceOf(entries)).faults).toContain(fault);
  });

  it('finds evidence complete with every attempt', () => {
    const tried = [accepted({ ...HASHES, to: 'QUEUED' }), claimed(1), released(1), claimed(2), signed(2)];
    expect(examined(evidenceOf(tried)).faults).toEqual([]);
  });
});
