/** Suffix of the certificate types whose layout is known (PROTOCOL.certkeys). */
const KNOWN_SUFFIX = '-cert-v01@openssh.com';
/** Namespace of key types defined by OpenSSH. Certificate types have the namespace as a suffix, after the version. */
const NAMESPACE = '@openssh.com';
/** Names of certificate types: OpenSSH in any version, X.509 (RFC 6187 section 3) and OpenPGP (RFC 4253 section 6.6). */
const CERTIFICATE = /-cert|^x509v3-|^pgp-sign-/i;

/**
 * isSshCertificateType reports whether a key type or algorithm is for certificates, including types that do not exist yet. A certificate is never a
 * public key: in authorized_keys it grants no access, and a revocation list that names its bytes revokes nothing.
 */
export function isSshCertificateType(type: string): boolean {
  return CERTIFICATE.test(type);
}

/**
 * certifiedKeyTypeOf returns the type of the key in a certificate of a known layout. Undefined for all other types. The types of security keys keep the
 * namespace.
 */
export function certifiedKeyTypeOf(type: string): string | undefined {
  if (!type.endsWith(KNOWN_SUFFIX)) return undefined;
  const plain = type.slice(0, -KNOWN_SUFFIX.length);
  return plain.startsWith('sk-') ? `${plain}${NAMESPACE}` : plain;
}
