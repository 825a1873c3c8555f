import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { createHash, X509Certificate } from 'node:crypto';
import { AddressList } from '../../formats/addresses/address.js';
import { fromBase64, fromBrokenBase64 } from '../../formats/encoding/base64.js';
import { Config } from '../../platform/config/config.js';

/** A byte sequence of RFC 8941 section 3.3.5, as RFC 9440 section 2.1 has it. */
const BYTE_SEQUENCE = /^:([A-Za-z0-9+/]+={0,2}):$/;
const PEM = /^-----BEGIN CERTIFICATE-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*$/;

/**
 * The thumbprint (SHA-256 of the DER, base64url: `x5t#S256` of RFC 8705 section 3.1) of the certificate that a proxy passes in a header: as RFC 9440
 * has it, as PEM with the escapes of a URL (nginx, Envoy), or as bare base64 (Traefik). Undefined for anything else, so also for two of them, which
 * arrive joined by a comma, and for a chain.
 */
export function certificateThumbprint(header: string): string | undefined {
  const der = derIn(header);
  if (der === undefined) return undefined;
  try {
    // OpenSSL would not mind what stands behind a certificate.
    return new X509Certificate(der).raw.equals(der) ? createHash('sha256').update(der).digest('base64url') : undefined;
  } catch {
    return undefined;
  }
}

function derIn(header: string): Buffer | undefined {
  if (header.startsWith(':')) return fromBase64(BYTE_SEQUENCE.exec(header)?.[1] ?? '?');
  const text = unescaped(header);
  if (text === undefined || !text.startsWith('-')) return fromBase64(header);
  const [, body] = PEM.exec(text) ?? [];
  return body === undefined ? undefined : fromBrokenBase64(body);
}

/** The escapes of a URL, in which a plus sign is a plus sign. */
function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The certificates that clients show to the proxies of SVC_TRUST_PROXY. What anybody else writes into the header is not looked at. */
@Injectable()
export class ClientCertificates {
  private readonly header: string | undefined;
  private readonly proxies: AddressList;

  constructor({ clientCertHeader, trustProxy }: Config) {
    this.header = clientCertHeader;
    this.proxies = new AddressList(clientCertHeader === undefined ? [] : trustProxy);
  }

  /** The thumbprint of the client's certificate; undefined if it showed none, or did not come by such a proxy. */
  thumbprintOf({ headers, raw }: FastifyRequest): string | undefined {
    const value = this.header === undefined ? undefined : headers[this.header];
    if (typeof value !== 'string' || !this.proxies.includes(raw.socket.remoteAddress ?? '')) return undefined;
    return certificateThumbprint(value);
  }
}
