/** Suffix of certificate types with a known layout (PROTOCOL.certkeys). */
const KNOWN_SUFFIX = '-cert-v01@openssh.com';
/** Namespace of key types defined by OpenSSH. Certificate types have the namespace as a suffix, after the version. */
const NAMESPACE = '@openssh.com';
/** Names of certificate types: OpenSSH in any version, X.509 (RFC 6187 section 3) and OpenPGP (RFC 4253 section 6.6). */
const CERTIFICATE = /-cert|^x509v3-|^pgp-sign-/i;

/**
 * isSshCertificateType reports whether a key type or algorithm is for certificates, including types that OpenSSH may define later. A certificate must not be
 * used as a public key: sshd ignores it in authorized_keys, and a revocation list that contains its bytes revokes nothing.
 */
export function isSshCertificateType(type: string): boolean {
  return CERTIFICATE.test(type);
}

/**
 * certifiedKeyTypeOf returns the type of the key in a certificate with a known layout. Undefined for all other types. The type of a security key includes the
 * namespace.
 */
export function certifiedKeyTypeOf(type: string): string | undefined {
  if (!type.endsWith(KNOWN_SUFFIX)) return undefined;
  const plain = type.slice(0, -KNOWN_SUFFIX.length);
  return plain.startsWith('sk-') ? `${plain}${NAMESPACE}` : plain;
}
