/** PKCS #11 URI of a private key by its name (RFC 7512), for OpenSSL's engine and the tools that use it. */
export function privateKeyUri(key: string): string {
  return `pkcs11:object=${encodeURIComponent(key)};type=private`;
}
