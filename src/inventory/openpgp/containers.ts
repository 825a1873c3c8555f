const MAGIC = 'KBXf';
const OPENPGP = 2;
const X509 = 3;
const MIN_HEAD = 20;

/** A keybox of GnuPG (`pubring.kbx`): its first blob is a header with a magic word. */
export function isKeybox(bytes: Buffer): boolean {
  return bytes.length >= 32 && bytes.toString('latin1', 8, 12) === MAGIC;
}

/** The keyrings and certificates (DER) that a keybox holds. @throws RangeError when it is cut short. */
export function readKeybox(bytes: Buffer): { readonly keyrings: Buffer[]; readonly certificates: Buffer[] } {
  const [keyrings, certificates]: [Buffer[], Buffer[]] = [[], []];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    if (length < 5 || at + length > bytes.length) throw new RangeError('a keybox is cut short');
    const type = bytes.readUInt8(at + 4);
    if ((type === OPENPGP || type === X509) && length >= MIN_HEAD) {
      const start = at + bytes.readUInt32BE(at + 8);
      const end = start + bytes.readUInt32BE(at + 12);
      if (end > at + length) throw new RangeError('a keybox is cut short');
      (type === OPENPGP ? keyrings : certificates).push(bytes.subarray(start, end));
    }
    at += length;
  }
  return { keyrings, certificates };
}
