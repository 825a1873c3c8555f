import { execFileSync } from 'node:child_process';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, type Authority, type Verdict } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import { type CertifiedStage, extractedData, makeProgram, openCertifiedStage } from '../support/certified-stage.js';
import { has } from '../support/peers.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { digestOf, publishedKey, read, sign } from '../support/signing.js';
import type { Stage } from '../support/stage.js';
import { TimestampClient } from '../support/timestamps.js';

const CONTENT = Buffer.from('A file that was released.\n'.repeat(100));

let certified: CertifiedStage;
let stage: Stage;
let service: Service;
let apiKey: string;
let authority: Authority;

beforeAll(async () => {
  certified = await openCertifiedStage(['rsa-2048', 'ec-p256']);
  ({ stage, service, apiKey, authority } = certified);
});
afterAll(() => certified.close());

const at = (name: string): string => certified.at(name);

/** Returns the bytes with one bit flipped, `offset` bytes after the start of the first `marker`. */
function flipped(bytes: Buffer, marker: string | Buffer, offset = 0): Buffer {
  const place = bytes.indexOf(marker);
  if (place < 0) throw new Error('the bytes do not hold the marker');
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(place + offset) ^ 1, place + offset);
  return copy;
}

async function signed(body: Record<string, unknown>): Promise<Answer['body']> {
  const answer = await sign(service, { key: apiKey, body: { ...body, timestamp: true } });
  expect(answer).toMatchObject({ status: 200, body: { status: 'SIGNED', timestamp: expect.any(String) } });
  return answer.body;
}

/** Runs `openssl ts -verify` for a bare token over these bytes. */
function stamps(token: Buffer, bytes: Buffer): Verdict {
  const args = ['-in', authority.keep('token.der', token), '-token_in', '-data', authority.keep('stamped.bin', bytes)];
  return ask('openssl', ['ts', '-verify', ...args, '-CAfile', authority.root]);
}

it('a timestamped signing request is rejected immediately without an authority', async () => {
  const body = { digest: digestOf(CONTENT), key: 'ec-p256', timestamp: true };
  assertProblem(await sign(service, { key: apiKey, body }), { status: 409, code: 'tsa.none' });
});

describe.each(['rsa-2048', 'ec-p384'])('timestamps of the built-in authority with %s', (type) => {
  beforeAll(async () => {
    if (type === 'rsa-2048')
      await certifiedKey(service, apiKey, authority, { name: 'tsa', type, purpose: 'timestamping' });
    else {
      await certifiedKey(service, apiKey, authority, { name: 'tsa-ec', type, purpose: 'timestamping' });
      service = await stage.start({ settings: { SVC_TSA_KEY: 'tsa-ec' } });
    }
  });

  it('raw: cover the signature, in the foreground and in the background', async () => {
    const body = await signed({ digest: digestOf(CONTENT), key: 'ec-p256' });
    const signature = Buffer.from(body.signature, 'base64');
    expect(stamps(Buffer.from(body.timestamp, 'base64'), signature)).toMatchObject({ ok: true });
    const other = Buffer.from(signature);
    other.writeUInt8(other.readUInt8(9) ^ 1, 9);
    expect(stamps(Buffer.from(body.timestamp, 'base64'), other).ok).toBe(false);
    expect((await read(service, apiKey, body.requestId)).body.timestamp).toBe(body.timestamp);

    const later = { digest: digestOf(CONTENT), key: 'ec-p256', timestamp: true, async: true };
    const accepted = await sign(service, { key: apiKey, body: later });
    const { body: done } = await read(service, apiKey, accepted.body.requestId);
    expect(stamps(Buffer.from(done.timestamp, 'base64'), Buffer.from(done.signature, 'base64')).ok).toBe(true);
    const rows = await stage.sql(`SELECT status FROM "timestamp" WHERE request_id = $1`, [done.requestId]);
    expect(rows).toEqual([{ status: 'ISSUED' }]);
  });

  it.each(['rsa-2048', 'ec-p256'])('cms with %s: are accepted by openssl as CAdES-T', async (key) => {
    const body = await signed({ digest: digestOf(CONTENT), key, format: 'cms' });
    const cms = Buffer.from(body.signature, 'base64');
    const token = Buffer.from(body.timestamp, 'base64');
    expect(cms.includes(token)).toBe(true);
    const verify = (container: Buffer, content: Buffer): Verdict => {
      const files = ['-in', authority.keep('t.p7s', container), '-content', authority.keep('t.bin', content)];
      const trust = ['-CAfile', authority.root, '-purpose', 'any', '-out', at('t.out')];
      return ask('openssl', ['cms', '-verify', '-binary', '-inform', 'DER', ...files, ...trust]);
    };
    expect(verify(cms, flipped(CONTENT, 'file')).ok).toBe(false);
    expect(verify(cms, CONTENT)).toMatchObject({ ok: true });
    const { text } = ask('openssl', ['cms', '-cmsout', '-print', '-inform', 'DER', '-in', at('t.p7s')]);
    expect(text).toContain('id-smime-aa-timeStampToken');
  });

  it.skipIf(!has('osslsigncode')).each(has('msibuild') ? ['exe', 'msi'] : ['exe'])(
    'authenticode: are verified by osslsigncode in the .%s',
    async (kind) => {
      rmSync(at(`s.${kind}`), { force: true });
      makeProgram(kind, at(`p.${kind}`), 'a program');
      const file = ['-in', at(`p.${kind}`)];
      const content = extractedData(at(`p.${kind}`), 'sha256');
      const body = await signed({ content, key: 'rsa-2048', format: 'authenticode' });
      const block = authority.keep('p.p7', Buffer.from(body.signature, 'base64'));
      const roots = ['-CAfile', authority.root, '-TSA-CAfile', authority.root];
      const attach = ['attach-signature', '-sigin', block, ...roots, ...file, '-out', at(`s.${kind}`)];
      expect(ask('osslsigncode', attach)).toMatchObject({ ok: true });
      const verify = () => ask('osslsigncode', ['verify', ...roots, '-in', at(`s.${kind}`)]);
      const verdict = verify();
      expect(verdict).toMatchObject({ ok: true });
      expect(verdict.text).toContain('Timestamp Server Signature verification: ok');
      const bytes = readFileSync(at(`s.${kind}`));
      writeFileSync(at(`s.${kind}`), flipped(bytes, 'a program'));
      expect(verify().ok).toBe(false);
      writeFileSync(at(`s.${kind}`), flipped(bytes, Buffer.from(body.timestamp, 'base64').subarray(-40), 20));
      expect(verify().text).not.toContain('Timestamp Server Signature verification: ok');
    },
  );

  it.skipIf(!has('jarsigner'))('JAR: are attributed to the authority by jarsigner', async () => {
    const store = ['-keystore', at('once.p12'), '-storepass', 'changeit'];
    if (!existsSync(at('once.p12'))) {
      execFileSync('keytool', ['-genkeypair', '-alias', 'once', '-dname', 'CN=o', '-keyalg', 'RSA', ...store], {
        stdio: 'pipe',
      });
      execFileSync('keytool', ['-importcert', '-noprompt', '-alias', 'root', '-file', authority.root, ...store], {
        stdio: 'pipe',
      });
    }
    writeFileSync(at('Main.txt'), 'a program');
    execFileSync('jar', ['cf', at('a.jar'), '-C', authority.directory, 'Main.txt']);
    execFileSync('jarsigner', [...store, '-sigfile', 'RELEASE', at('a.jar'), 'once'], { stdio: 'pipe' });
    execFileSync('jar', ['xf', at('a.jar'), 'META-INF/RELEASE.SF'], { cwd: authority.directory });
    const digest = digestOf(readFileSync(at('META-INF/RELEASE.SF')));
    const body = await signed({ digest, format: 'cms', key: 'rsa-2048' });
    const verify = (block: Buffer, content = 'a program'): Verdict => {
      writeFileSync(at('META-INF/RELEASE.RSA'), block);
      writeFileSync(at('Main.txt'), content);
      execFileSync('jar', ['uf', at('a.jar'), 'META-INF/RELEASE.RSA', 'Main.txt'], { cwd: authority.directory });
      return ask('jarsigner', ['-verify', '-verbose', '-certs', ...store, at('a.jar')]);
    };
    const block = Buffer.from(body.signature, 'base64');
    expect(verify(block, 'a prograM').ok).toBe(false);
    const badToken = verify(flipped(block, Buffer.from(body.timestamp, 'base64').subarray(-40), 20));
    expect(badToken.text).toContain('the jar will be treated as unsigned');
    const verdict = verify(block);
    expect(verdict).toMatchObject({ ok: true, text: expect.stringContaining('jar verified.') });
    expect(verdict.text).toContain('Timestamped by "CN=tsa');
    expect(verdict.text).not.toContain('do not include a timestamp');
  });

  it('sigstore-bundle: are required and found by @sigstore/verify', async () => {
    const body = await signed({ digest: digestOf(CONTENT), format: 'sigstore-bundle', key: 'ec-p256' });
    const bundle = JSON.parse(Buffer.from(body.signature, 'base64').toString());
    const { publicKey } = await publishedKey(service, apiKey, 'ec-p256');
    const chain = `${await new TimestampClient(service, apiKey, authority).chain()}${readFileSync(authority.root, 'utf8')}`;
    const certificates = (chain.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map((pem) => ({
      rawBytes: new X509Certificate(pem).raw,
    }));
    const validFor = { start: new Date(0), end: new Date('2099-01-01') };
    const subject = { organization: '', commonName: '' };
    const tsa = { subject, uri: '', operator: '', certChain: { certificates }, validFor };
    const trust = toTrustMaterial(
      { mediaType: '', certificateAuthorities: [], timestampAuthorities: [tsa], tlogs: [], ctlogs: [] },
      () => ({ publicKey: createPublicKey(publicKey), validFor: () => true }),
    );
    const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 1 });
    const verify = () => verifier.verify(toSignedEntity(bundleFromJSON(bundle), CONTENT));
    verify();
    const [stamp] = bundle.verificationMaterial.timestampVerificationData.rfc3161Timestamps;
    const token = Buffer.from(stamp.signedTimestamp, 'base64');
    token.writeUInt8(token.readUInt8(token.length - 1) ^ 1, token.length - 1);
    stamp.signedTimestamp = token.toString('base64');
    expect(verify).toThrow(/timestamp|verification/i);
    bundle.verificationMaterial.timestampVerificationData.rfc3161Timestamps = [];
    expect(verify).toThrow(/timestamp/i);
  });
});
