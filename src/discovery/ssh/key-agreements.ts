import {
  createDiffieHellmanGroup,
  createECDH,
  createPublicKey,
  createHash,
  decapsulate,
  diffieHellman,
  generateKeyPairSync,
} from 'node:crypto';
import { ProbeFault } from '../probing/bounded-stream.js';
import { newSntrup761, type Sntrup761, SNTRUP761_CIPHERTEXT } from './sntrup761.js';
import { wireMpint, wireString } from '../../formats/ssh/wire.js';

/** KeyAgreement is the client side of a key exchange. */
export interface KeyAgreement {
  readonly hash: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  /** Client's public value. The encoding is the same in the message and in the exchange hash. */
  readonly sent: Buffer;
  /** Returns the server's public value and the shared secret, both in the encoding of the exchange hash. */
  readonly agree: (received: Buffer) => { readonly received: Buffer; readonly secret: Buffer };
}

type Start = () => KeyAgreement;
const X25519_SPKI = Buffer.from('302a300506032b656e032100', 'hex');
const ML_KEM_768_CIPHERTEXT = 1088;

/** Supported key exchanges, in order of preference. The probe does not perform other key exchanges and only reports their names. */
export const KEY_AGREEMENTS: Record<string, Start> = {
  'mlkem768x25519-sha256': mlkem768x25519,
  'curve25519-sha256': x25519,
  'curve25519-sha256@libssh.org': x25519,
  'ecdh-sha2-nistp256': ecdh('prime256v1', 'sha256'),
  'ecdh-sha2-nistp384': ecdh('secp384r1', 'sha384'),
  'ecdh-sha2-nistp521': ecdh('secp521r1', 'sha512'),
  'diffie-hellman-group14-sha256': modp('modp14', 'sha256'),
  'diffie-hellman-group16-sha512': modp('modp16', 'sha512'),
  'diffie-hellman-group18-sha512': modp('modp18', 'sha512'),
  'diffie-hellman-group14-sha1': modp('modp14', 'sha1'),
  // The most expensive key exchanges are last. The probe uses one of these only if a server offers no other supported key exchange.
  'sntrup761x25519-sha512': sntrup761x25519,
  'sntrup761x25519-sha512@openssh.com': sntrup761x25519,
};

/** isPostQuantum returns true for key exchanges that remain secure against an attacker who records the traffic now and has a quantum computer later. */
export function isPostQuantum(kex: string): boolean {
  return /mlkem|sntrup|ml-kem|kyber/i.test(kex);
}

function x25519(): KeyAgreement {
  const { raw, shared } = x25519Half();
  return {
    hash: 'sha256',
    sent: wireString(raw),
    agree: (received) => ({ received: wireString(received), secret: wireMpint(shared(received)) }),
  };
}

/** Creates the client side of an X25519 key exchange (RFC 8731 section 3). */
function x25519Half(): { raw: Buffer; shared: (theirs: Buffer) => Buffer } {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(X25519_SPKI.length);
  const shared = (theirs: Buffer) => {
    if (theirs.length !== 32) throw new ProbeFault('malformed', 'not a Curve25519 key');
    const key = createPublicKey({ key: Buffer.concat([X25519_SPKI, theirs]), format: 'der', type: 'spki' });
    return diffieHellman({ publicKey: key, privateKey });
  };
  return { raw, shared };
}

/** draft-ietf-sshm-mlkem-hybrid-kex: the public values are concatenated, and the shared secret is the hash of both shared secrets. */
function mlkem768x25519(): KeyAgreement {
  const classical = x25519Half();
  const kem = generateKeyPairSync('ml-kem-768');
  const kemPublic = kem.publicKey.export({ format: 'der', type: 'spki' }).subarray(-1184);
  return {
    hash: 'sha256',
    sent: wireString(Buffer.concat([kemPublic, classical.raw])),
    agree: (received) => {
      if (received.length !== ML_KEM_768_CIPHERTEXT + 32) throw new ProbeFault('malformed', 'not an ML-KEM ciphertext');
      const first = decapsulate(kem.privateKey, received.subarray(0, ML_KEM_768_CIPHERTEXT));
      const second = classical.shared(received.subarray(ML_KEM_768_CIPHERTEXT));
      const secret = createHash('sha256').update(first).update(second).digest();
      return { received: wireString(received), secret: wireString(secret) };
    },
  };
}

let streamlined: Sntrup761 | undefined;

/**
 * draft-ietf-sshm-ntruprime-ssh. The process reuses one NTRU Prime key, because generating a key takes 100 ms. The server's signature still covers fresh
 * values: the cookie in KEXINIT and the X25519 public value.
 */
function sntrup761x25519(): KeyAgreement {
  const classical = x25519Half();
  streamlined ??= newSntrup761();
  const kem = streamlined;
  return {
    hash: 'sha512',
    sent: wireString(Buffer.concat([kem.publicKey, classical.raw])),
    agree: (received) => {
      if (received.length !== SNTRUP761_CIPHERTEXT + 32)
        throw new ProbeFault('malformed', 'not an NTRU Prime ciphertext');
      const first = kem.decapsulate(received.subarray(0, SNTRUP761_CIPHERTEXT));
      const second = classical.shared(received.subarray(SNTRUP761_CIPHERTEXT));
      const secret = createHash('sha512').update(first).update(second).digest();
      return { received: wireString(received), secret: wireString(secret) };
    },
  };
}

/** ECDH key exchange (RFC 5656 section 4). */
function ecdh(curve: string, hash: KeyAgreement['hash']): Start {
  return () => {
    const own = createECDH(curve);
    const sent = wireString(own.generateKeys());
    return {
      hash,
      sent,
      agree: (received) => ({ received: wireString(received), secret: wireMpint(own.computeSecret(received)) }),
    };
  };
}

/** Diffie-Hellman key exchange (RFC 4253 section 8) with the groups of RFC 3526. */
function modp(group: string, hash: KeyAgreement['hash']): Start {
  return () => {
    const own = createDiffieHellmanGroup(group);
    return {
      hash,
      sent: wireMpint(own.generateKeys()),
      agree: (received) => ({ received: wireMpint(received), secret: wireMpint(own.computeSecret(received)) }),
    };
  };
}
