/** Suffix of the certificate types whose layout is known (PROTOCOL.certkeys). */
const KNOWN_SUFFIX = '-cert-v01@openssh.com';
/** Namespace of key types that OpenSSH defined; a certificate type has it at its end, behind the version. */
const NAMESPACE = '@openssh.com';
/** Names of certificate types: of OpenSSH in any version, of X.509 (RFC 6187 section 3) and of OpenPGP (RFC 4253 section 6.6). */
const CERTIFICATE = /-cert|^x509v3-|^pgp-sign-/i;

/**
 * isSshCertificateType reports whether a key type or algorithm names certificates, also those of types that do not exist yet. A certificate is
 * never a public key: in authorized_keys it lets nobody in, and a revocation list that names its bytes revokes nothing.
 */
export function isSshCertificateType(type: string): boolean {
  return CERTIFICATE.test(type);
}

/** The type of the key that a certificate of a known layout is about; undefined for all other types. Keys of security tokens keep the namespace. */
export function certifiedKeyTypeOf(type: string): string | undefined {
  if (!type.endsWith(KNOWN_SUFFIX)) return undefined;
  const plain = type.slice(0, -KNOWN_SUFFIX.length);
  return plain.startsWith('sk-') ? `${plain}${NAMESPACE}` : plain;
}
