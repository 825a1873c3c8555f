import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate as CertificateSyntax,
  ExtendedKeyUsage,
  type Extension,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  KeyUsage,
  KeyUsageFlags,
} from '@peculiar/asn1-x509';
import type { X509Certificate } from 'node:crypto';

/** Extended key usages that matter here, by their object identifiers (RFC 5280 section 4.2.1.12, RFC 9336). */
export const PURPOSES = {
  'server-auth': '1.3.6.1.5.5.7.3.1',
  'client-auth': '1.3.6.1.5.5.7.3.2',
  'code-signing': '1.3.6.1.5.5.7.3.3',
  'email-protection': '1.3.6.1.5.5.7.3.4',
  'time-stamping': '1.3.6.1.5.5.7.3.8',
  'document-signing': '1.3.6.1.5.5.7.3.36',
  any: '2.5.29.37.0',
} as const;

/** What a certificate says of the use of its key. */
export interface CertificateFacts {
  /** Names of known purposes, object identifiers of others; empty without the extension. */
  readonly purposes: string[];
  readonly purposesCritical: boolean;
  readonly isAuthority: boolean;
  /** How many authorities may follow below it (pathLenConstraint); undefined means any number. */
  readonly pathLength: number | undefined;
  /** Undefined without the extension: every use is allowed. */
  readonly keyUsage:
    { readonly signs: boolean; readonly signsCertificates: boolean; readonly other: boolean } | undefined;
}

export function factsOf(certificate: X509Certificate): CertificateFacts {
  const { extensions } = AsnConvert.parse(certificate.raw, CertificateSyntax).tbsCertificate;
  const find = (id: string) => extensions?.find(({ extnID }) => extnID === id);
  const usage = find(id_ce_extKeyUsage);
  const constraints = read(find(id_ce_basicConstraints), BasicConstraints);
  return {
    purposes: [...(read(usage, ExtendedKeyUsage) ?? [])].map(purposeName),
    purposesCritical: usage?.critical ?? false,
    isAuthority: constraints?.cA ?? false,
    pathLength: constraints?.pathLenConstraint,
    keyUsage: keyUsageOf(find(id_ce_keyUsage)),
  };
}

function keyUsageOf(extension: Extension | undefined): CertificateFacts['keyUsage'] {
  const flags = read(extension, KeyUsage)?.toNumber();
  if (flags === undefined) return undefined;
  const signing = KeyUsageFlags.digitalSignature | KeyUsageFlags.nonRepudiation;
  return {
    signs: (flags & signing) !== 0,
    signsCertificates: (flags & KeyUsageFlags.keyCertSign) !== 0,
    other: (flags & ~signing) !== 0,
  };
}

function read<T>(extension: Extension | undefined, syntax: new () => T): T | undefined {
  return extension === undefined ? undefined : AsnConvert.parse(extension.extnValue.buffer, syntax);
}

function purposeName(id: string): string {
  const known = Object.entries(PURPOSES).find(([, value]) => value === id);
  return known?.[0] ?? id;
}
