import { expect, it } from 'vitest';
import type { CdxComponent } from '../../model/document.js';
import { AssetGraph } from './asset-graph.js';
import { traitsOf } from './asset-traits.js';
import { DEFAULT_RULES } from './default-rules.js';
import { RiskEngine } from './risk-engine.js';
import { SubjectReader } from './subject-reader.js';

/**
 * A hundred assets that were labelled by hand from public sources rather than from the rules. The labels state whether Shor's algorithm breaks the asset
 * (`shor`), and whether it is unfit for its purpose today (`weak`: broken, disallowed or prohibited by its standard). Names are written as tools write them.
 */
const SHOR_AND_FINE = `RSA-2048; RSA-3072; RSA-4096; SHA256withRSA; SHA384withRSA; SHA512withRSA; RSASSA-PSS; SHA256withECDSA; SHA384withECDSA;
  ECDSA; Ed25519; Ed448; EdDSA; X25519; X448; ECDH; EC-secp256r1; EC-secp384r1; EC-secp521r1; ecdsa-sha2-nistp256; ecdsa-sha2-nistp384;
  ssh-ed25519; rsa-sha2-256; rsa-sha2-512; ElGamal; ECIES; SM2; brainpoolP256r1; secp256k1; ecdh-sha2-nistp521`;
const SHOR_AND_WEAK = `RSA-1024; RSA-512; EC-secp192r1; EC-secp160r1; SHA1withRSA; MD5withRSA; SHA1withECDSA; SHA1withDSA; DSA`;
const SAFE_AND_FINE = `AES-256-GCM; AES-192-GCM; AES-128-GCM; AES256-CTR; AES/GCM/NoPadding; ChaCha20-Poly1305; Camellia-256; ARIA-256-GCM;
  Serpent-256; Twofish-256; SHA-256; SHA-384; SHA-512; SHA-512/256; SHA3-256; SHA3-384; SHA3-512; SHAKE256; BLAKE2b-512; BLAKE3; HMAC-SHA256;
  HMAC-SHA512; CMAC-AES; Poly1305; HKDF; PBKDF2; scrypt; bcrypt; Argon2id; CTR_DRBG; Hash_DRBG; ML-KEM-512; ML-KEM-768; ML-KEM-1024; ML-DSA-44;
  ML-DSA-65; ML-DSA-87; SLH-DSA-SHA2-128s; SLH-DSA-SHAKE-256f; LMS; XMSS; HSS; X25519MLKEM768; SecP256r1MLKEM768; mlkem768x25519-sha256; HmacSHA384;
  AES128-GMAC; KMAC256`;
const SAFE_AND_WEAK = `DES; DES-CBC; DESede; 3DES; RC4; ARCFOUR; RC2; Blowfish; IDEA; CAST5; AES-128-ECB; AES/ECB/PKCS5Padding; MD5`;

const engine = new RiskEngine(DEFAULT_RULES);
const WEAK = new Set(['broken', 'disallowed']);
const listOf = (text: string) => text.split(';').map((name) => name.trim());

function labelOf(name: string): string {
  const cryptoProperties = { assetType: 'algorithm', algorithmProperties: {} };
  const kind = 'algorithm';
  const component = { type: 'cryptographic-asset', name, cryptoProperties } as CdxComponent;
  const asset = { id: 'a', kind, name, traits: traitsOf(kind, component), edges: [] } as const;
  const graph = new AssetGraph([asset]);
  const { quantum, classical } = engine.judge(new SubjectReader(graph).read(asset).subject);
  const shor = quantum.status === 'unknown' ? 'unknown' : quantum.status === 'quantum-vulnerable' ? 'shor' : 'safe';
  return `${shor}, ${WEAK.has(classical.status) ? 'weak' : 'fine'}`;
}

it('no verdict is wrong in a sample of one hundred manually labeled assets', () => {
  const sample = [
    ...listOf(SHOR_AND_FINE).map((name) => [name, 'shor, fine']),
    ...listOf(SHOR_AND_WEAK).map((name) => [name, 'shor, weak']),
    ...listOf(SAFE_AND_FINE).map((name) => [name, 'safe, fine']),
    ...listOf(SAFE_AND_WEAK).map((name) => [name, 'safe, weak']),
  ];
  expect(sample.length).toBe(100);
  const wrong = sample.map(([name = '', label]) => ({ name, label, said: labelOf(name) }));
  expect(wrong.filter(({ label, said }) => label !== said)).toEqual([]);
});
