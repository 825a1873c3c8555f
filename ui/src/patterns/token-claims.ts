/** claimsIn returns the claims of a pasted JWT (RFC 7519, compact form) or JSON object, or undefined for other text. Nothing is verified. */
export function claimsIn(text: string): Record<string, unknown> | undefined {
  const pasted = text.trim().replace(/^Bearer\s+/i, '');
  const [header, payload, signature, ...rest] = pasted.split('.');
  if (pasted.startsWith('{')) return objectIn(pasted);
  if (header === undefined || payload === undefined || signature === undefined || rest.length > 0) return undefined;
  const decoded = decode(payload);
  return decoded === undefined ? undefined : objectIn(decoded);
}

/** Base64url (RFC 4648 section 5) of UTF-8. */
function decode(base64url: string): string | undefined {
  try {
    const bytes = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

function objectIn(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
