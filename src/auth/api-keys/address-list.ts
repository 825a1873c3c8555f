import { registerDecorator } from 'class-validator';
import { BlockList, isIP } from 'node:net';
import { isAddressBlock } from '../../formats/addresses/address.js';

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The addresses that a key may be used from. */
export class AddressList {
  private readonly list = new BlockList();

  constructor(blocks: readonly string[]) {
    for (const block of blocks) {
      const [address = '', bits] = block.split('/');
      const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
      this.list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
    }
  }

  /** An IPv4 address that arrives over an IPv6 socket is the IPv4 address. What is no address is not in the list. */
  includes(address: string): boolean {
    const plain = MAPPED.exec(address)?.[1] ?? address;
    const family = isIP(plain);
    return family !== 0 && this.list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  }
}

/** Every item is an address or a block of addresses. */
export function IsAddressBlocks(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isAddressBlocks',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: 'must be addresses or blocks like 192.0.2.0/24' },
      validator: { validate: (value: unknown) => Array.isArray(value) && value.every(isAddressBlock) },
    });
}
