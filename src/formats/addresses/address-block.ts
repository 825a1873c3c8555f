import { isIP } from 'node:net';

/** Whether the text is an address or a block in CIDR notation (RFC 4632, RFC 4291 section 2.3). */
export function isAddressBlock(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}
