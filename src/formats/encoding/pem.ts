/** A block of RFC 7468: `label` as in `CERTIFICATE`, base64 in lines of 64. */
export function writePem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
