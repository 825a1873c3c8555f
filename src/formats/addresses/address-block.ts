import { BlockList, isIP } from 'node:net';

/** Whether the text is an address or a block in CIDR notation (RFC 4632, RFC 4291 section 2.3). */
export function isAddressBlock(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** The addresses of these blocks, for Node's own check. A rule for IPv4 matches addresses that are mapped into IPv6 as well. */
export function blockListOf(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', bits] = block.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return list;
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The addresses that a credential may be used from. */
export class AddressList {
  private readonly list: BlockList;

  /** `blocks`: addresses and blocks in CIDR notation. */
  constructor(blocks: readonly string[]) {
    this.list = blockListOf(blocks);
  }

  /** An IPv4 address that arrives over an IPv6 socket is the IPv4 address. What is no address is not in the list. */
  includes(address: string): boolean {
    const plain = MAPPED.exec(address)?.[1] ?? address;
    const family = isIP(plain);
    return family !== 0 && this.list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  }
}
