/** UserInfo contains the credentials before the @ of a connection URI. */
export interface UserInfo {
  readonly user: string;
  readonly password: string;
}

/**
 * readUserInfo parses the percent-encoded `user:password` of a URI (RFC 3986 section 3.2.1). Returns undefined if a % is not followed by two hexadecimal
 * digits.
 */
export function readUserInfo(text: string): UserInfo | undefined {
  const [user, ...password] = text.split(':').map(percentDecoded);
  if (user === undefined || password.includes(undefined)) return undefined;
  return { user, password: password.join(':') };
}

/** percentDecoded decodes percent-encoded text. Returns undefined if a % is not followed by two hexadecimal digits. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
