import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { TokenBinding } from '../../../access/caller.js';
import { Config } from '../../../platform/config/config.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Clock } from '../../../platform/work/clock.js';
import { ASYMMETRIC_ALGORITHMS } from '../key-sets/token-signature.js';
import { ClientCertificates } from './client-certificate.js';
import { plainAddress, ProofRefused, verifyDpopProof } from './dpop-proof.js';
import { UsedProofs } from './used-proofs.repository.js';

/** An access token as presented in a call. */
export interface PresentedToken {
  readonly scheme: 'bearer' | 'dpop';
  readonly token: string;
  readonly request: FastifyRequest;
}

/** KeyPossession determines which keys a request proves possession of, and compares these keys with the token's binding. */
@Injectable()
export class KeyPossession {
  /**
   * Thumbprints of verified proofs, by request. A request is authorized several times (before its body is read, and before a late response is sent), but its
   * proof can be used only once.
   */
  private readonly shown = new WeakMap<FastifyRequest, Promise<string>>();

  constructor(
    private readonly config: Config,
    private readonly used: UsedProofs,
    private readonly clock: Clock,
    private readonly certificates: ClientCertificates,
  ) {}

  /**
   * Returns the keys whose possession a token request proves. The token can be bound to these keys.
   *
   * @throws ProofRefused
   */
  async shownBy(request: FastifyRequest): Promise<TokenBinding> {
    const certificate = this.certificates.thumbprintOf(request);
    const inTls = certificate === undefined ? {} : { certificate };
    if (request.headers['dpop'] === undefined) return inTls;
    return { ...inTls, dpopKey: await this.proven(request, undefined) };
  }

  /**
   * Rejects a token that is bound to a key whose possession the request does not prove, and an unbound token with the DPoP scheme.
   *
   * @throws Problem `auth.token-binding`, `auth.dpop-proof`
   */
  async assertHolder(presented: PresentedToken, { dpopKey, certificate }: TokenBinding): Promise<void> {
    if (certificate !== undefined && this.certificates.thumbprintOf(presented.request) !== certificate)
      throw otherCertificate();
    await this.assertDpopKey(presented, dpopKey);
  }

  private async assertDpopKey({ scheme, token, request }: PresentedToken, dpopKey: string | undefined): Promise<void> {
    if (dpopKey === undefined && scheme === 'bearer') return;
    if (dpopKey === undefined)
      throw unbound('This access token is not bound to a key. Send it with the Bearer scheme.');
    if (scheme === 'bearer')
      throw unbound('This access token is bound to a key. Send it with the DPoP scheme and a DPoP proof.');
    const shown = await this.proven(request, token).catch((error: unknown): never => {
      throw error instanceof ProofRefused ? refused(error) : error;
    });
    if (shown !== dpopKey)
      throw unbound('This access token is bound to a different key than the key in the DPoP proof.');
  }

  private proven(request: FastifyRequest, accessToken: string | undefined): Promise<string> {
    const known = this.shown.get(request);
    if (known !== undefined) return known;
    const proven = this.verified(request, accessToken);
    this.shown.set(request, proven);
    return proven;
  }

  private async verified(request: FastifyRequest, accessToken: string | undefined): Promise<string> {
    const { dpop } = request.headers;
    const proof = Array.isArray(dpop) ? dpop.join() : (dpop ?? '');
    const call = { method: request.method, addresses: addressesOf(request, this.config.publicUrl), accessToken };
    const { thumbprint, jti, until } = await verifyDpopProof(proof, call, this.clock.now());
    if (await this.used.take({ kind: 'dpop', by: thumbprint, jti }, until)) return thumbprint;
    throw new ProofRefused('The DPoP proof has already been used. Create a new proof for each request.');
  }
}

/**
 * Returns the URLs by which a client may have addressed the endpoint: one based on SVC_PUBLIC_URL, because a proxy may strip its path, and one based on the
 * Host header, which `refuseForeignHosts` has already checked.
 */
function addressesOf({ originalUrl, protocol, headers }: FastifyRequest, publicUrl: string): string[] {
  const path = originalUrl.split('?', 1)[0] ?? '';
  const bases = [publicUrl.replace(/\/$/, ''), `${protocol}://${headers.host ?? ''}`];
  return bases.flatMap((base) => plainAddress(base + path) ?? []);
}

const ALGORITHMS = ASYMMETRIC_ALGORITHMS.join(' ');

/** Returns a WWW-Authenticate challenge (RFC 9449 section 7.1). */
function challenge(error: 'invalid_token' | 'invalid_dpop_proof', description: string): string {
  return `DPoP realm="sealwright", error="${error}", error_description="${description}", algs="${ALGORITHMS}"`;
}

/** Returns the Problem for a token that is bound to another client certificate (RFC 8705 section 3). */
function otherCertificate(): Problem {
  const detail =
    'This access token is bound to a client certificate, but the request uses a different certificate, or none.';
  return new Problem('unauthenticated', 'auth.token-binding', detail);
}

function unbound(detail: string): Problem {
  const challenged = { challenge: challenge('invalid_token', detail) };
  return new Problem('unauthenticated', 'auth.token-binding', detail, challenged);
}

function refused({ message }: ProofRefused): Problem {
  const challenged = { challenge: challenge('invalid_dpop_proof', message) };
  return new Problem('unauthenticated', 'auth.dpop-proof', message, challenged);
}
