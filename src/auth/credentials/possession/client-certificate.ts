import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { AddressList } from '../../../formats/encoding/ip-address.js';
import { exactCertificate } from '../../../formats/asn1/certificate-text.js';
import { derElements } from '../../../formats/asn1/der-reader.js';
import { fromBase64, fromBrokenBase64 } from '../../../formats/encoding/base64.js';
import { Config } from '../../../platform/config/config.js';

/** Matches a byte sequence (RFC 8941 section 3.3.5), as used by RFC 9440 section 2.1. */
const BYTE_SEQUENCE = /^:([A-Za-z0-9+/]+={0,2}):$/;
const PEM = /^-----BEGIN CERTIFICATE-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*$/;

/** Maximum number of additional certificates that a proxy passes with the client's certificate. Longer chains are rejected as a whole. */
const MAX_CHAIN = 8;
const PEM_BLOCKS = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Returns the thumbprint (SHA-256 of the DER, base64url: `x5t#S256` of RFC 8705 section 3.1) of the certificate that a proxy passes in a header: in RFC 9440
 * format, as URL-encoded PEM (nginx, Envoy), or as bare base64 (Traefik). Returns undefined for every other value, including a chain, and two certificates,
 * which arrive joined by a comma.
 */
export function certificateThumbprint(header: string): string | undefined {
  const der = certificateIn(header);
  return der === undefined ? undefined : thumbprintOf(der);
}

/** Returns the DER encoding of the certificate that a proxy passes in a header. */
export function certificateIn(header: string): Buffer | undefined {
  const der = derIn(header);
  if (der === undefined) return undefined;
  try {
    return exactCertificate(der).raw;
  } catch {
    return undefined;
  }
}

/**
 * Returns the certificates of `Client-Cert-Chain` (RFC 9440 section 2.3), in DER: comma-separated byte sequences, each of which may contain several
 * concatenated certificates, as HAProxy writes them; or URL-encoded PEM. Returns an empty list if a certificate cannot be parsed, or if there are more than
 * MAX_CHAIN certificates.
 */
export function chainIn(header: string): Buffer[] {
  try {
    const parts = header.startsWith(':') ? header.split(',').map((part) => part.trim()) : pemBlocksIn(header);
    const chain = parts.flatMap((part) => derElements(derIn(part) ?? Buffer.alloc(1))).map(({ raw }) => exactCertificate(raw).raw); // prettier-ignore
    return chain.length > MAX_CHAIN ? [] : chain;
  } catch {
    return [];
  }
}

function pemBlocksIn(header: string): string[] {
  return [...(unescaped(header) ?? '').matchAll(PEM_BLOCKS)].map(([block]) => block);
}

function thumbprintOf(der: Buffer): string {
  return createHash('sha256').update(der).digest('base64url');
}

function derIn(header: string): Buffer | undefined {
  if (header.startsWith(':')) return fromBase64(BYTE_SEQUENCE.exec(header)?.[1] ?? '?');
  const text = unescaped(header);
  if (text === undefined || !text.startsWith('-')) return fromBase64(header);
  const [, body] = PEM.exec(text) ?? [];
  return body === undefined ? undefined : fromBrokenBase64(body);
}

/** Decodes percent-encoding. Plus signs are kept. */
function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A certificate that a client presented. */
export interface ShownCertificate {
  /** DER */
  readonly raw: Buffer;
  /** `x5t#S256` */
  readonly thumbprint: string;
  /** Untrusted CA certificates sent with the client's certificate, in DER. */
  readonly chain: readonly Buffer[];
}

/** ClientCertificates reads the certificates that clients present to the proxies in SVC_TRUST_PROXY. Certificate headers from any other sender are ignored. */
@Injectable()
export class ClientCertificates {
  private readonly header: string | undefined;
  private readonly chainHeader: string | undefined;
  private readonly proxies: AddressList;

  constructor({ clientCertHeader, clientCertChainHeader, trustProxy }: Config) {
    this.header = clientCertHeader;
    this.chainHeader = clientCertChainHeader;
    this.proxies = new AddressList(clientCertHeader === undefined ? [] : trustProxy);
  }

  /** Returns the thumbprint of the client's certificate; undefined without a certificate, or if the request did not come through a trusted proxy. */
  thumbprintOf(request: FastifyRequest): string | undefined {
    const value = this.valueOf(request, this.header);
    return value === undefined ? undefined : certificateThumbprint(value);
  }

  /** Returns the client's certificate and its chain; undefined under the same conditions as for `thumbprintOf`. */
  shownBy(request: FastifyRequest): ShownCertificate | undefined {
    const raw = certificateIn(this.valueOf(request, this.header) ?? '');
    if (raw === undefined) return undefined;
    return { raw, thumbprint: thumbprintOf(raw), chain: chainIn(this.valueOf(request, this.chainHeader) ?? '') };
  }

  private valueOf({ headers, raw }: FastifyRequest, header: string | undefined): string | undefined {
    const value = header === undefined ? undefined : headers[header];
    return typeof value === 'string' && this.proxies.includes(raw.socket.remoteAddress ?? '') ? value : undefined;
  }
}
