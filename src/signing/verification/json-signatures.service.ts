import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { type JsfSigner, jsfSignerOf, type JsonSignature } from '../../verifier/json-signature.js';
import { needsApproval } from '../requests/approval-gate.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { SigningService } from '../requests/signing.service.js';

/** JsonSigner signs a JSON document with an enveloped signature (JSON Signature Format 0.82). */
export interface JsonSigner {
  /** Members of the signature other than its value. These members are also signed. */
  readonly facts: Omit<JsonSignature, 'value'>;
  readonly hash: string;
  /**
   * @param digest of the canonical form (RFC 8785) of the document with `facts` as its signature
   * @throws the Problems of signing; `signing-key.version` (conflict) if the key was rotated in the meantime
   */
  sign(digest: Buffer): Promise<JsonSignature>;
  /** Returns the document with its signature. */
  signed(document: object): Promise<object>;
}

/** JsonSignaturesService signs JSON documents that other modules write. Each signature is a regular signing request. */
@Injectable()
export class JsonSignaturesService {
  constructor(
    private readonly signing: SigningService,
    private readonly keys: SigningKeyReader,
  ) {}

  /**
   * Validates that the key would sign the document, before the document is written.
   *
   * @throws the Problems of signing; `approval.needed` (forbidden) if approval is required, because the caller gets the document and its signature together
   * or not at all.
   */
  async signer(caller: Caller, keyName: string, metadata: { filename: string }): Promise<JsonSigner> {
    // A cached key may be seconds old, and its public key becomes part of the document.
    this.keys.forgetNamed(keyName);
    const key = await this.keys.active(caller, keyName);
    const { facts, how, scheme } = signerOf(key);
    const { hash } = how;
    const order = {
      algorithm: hash,
      key: key.name,
      scheme,
      format: 'raw' as const,
      timestamp: false,
      metadata,
      reference: null,
      background: false,
    };
    await this.signing.assertSignsAtOnce(caller, order);
    const sign = async (digest: Buffer): Promise<JsonSignature> => {
      const request = await this.signing.submit(caller, { ...order, digest: digest.toString('base64') });
      if (request.signature === null) throw needsApproval(request.id);
      if (request.keyVersion !== key.version) throw rotated(key);
      return { ...facts, value: request.signature.toString('base64url') };
    };
    const signed = async (document: object): Promise<object> => {
      const text = canonicalJson({ ...document, signature: facts });
      return { ...document, signature: await sign(createHash(hash).update(text).digest()) };
    };
    return { facts, hash, sign, signed };
  }
}

function signerOf({ name, type, publicKey }: ActiveKey): JsfSigner {
  const signer = jsfSignerOf(name, type, { key: publicKey, format: 'der', type: 'spki' });
  if (signer !== undefined) return signer;
  const detail = `JSF does not support keys of type ${type}; specify an EC or RSA key`;
  throw new Problem('malformed', 'scheme.wrong-key', `key: ${detail}.`, { errors: [{ pointer: '/key', detail }] });
}

function rotated({ name }: ActiveKey): Problem {
  return new Problem('conflict', 'signing-key.version', `Key "${name}" was rotated during this call. Repeat the call.`);
}
