import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { BoundedStream } from '../../src/discovery/probing/bounded-stream.js';
import { MSG, writeKexInit, writePacket } from '../../src/discovery/ssh/ssh-wire.js';
import { wireString } from '../../src/formats/ssh/wire.js';

const GIB = 1024 ** 3;

/** Sends the same bytes repeatedly, up to 1 GiB. Returns the number of bytes sent. */
export function flood(socket: Socket, bytes: Buffer): Promise<number> {
  const more = (): void => {
    while (!socket.destroyed && socket.bytesWritten < GIB && socket.write(bytes));
    if (socket.bytesWritten >= GIB) socket.end();
  };
  socket.on('drain', more);
  more();
  return new Promise((resolve) => socket.once('close', () => resolve(socket.bytesWritten)));
}

/** Starts SSH and then sends an endless stream of meaningless messages (SSH_MSG_IGNORE). */
export function floodPackets(socket: Socket): Promise<number> {
  const packets: Buffer[] = [];
  const ignored = Buffer.concat([Buffer.from([MSG.ignore]), wireString(Buffer.alloc(1000))]);
  writePacket({ write: (bytes: Buffer) => packets.push(bytes) } as unknown as BoundedStream, ignored);
  socket.write('SSH-2.0-flood\r\n');
  return flood(socket, Buffer.concat(packets));
}

/** Runs the SSH protocol up to a key exchange reply that presents one host key but is signed with another key. */
export function lie(socket: Socket, { key }: { key: Buffer }): void {
  const none = {
    ciphersIn: ['aes128-ctr'],
    ciphersOut: ['aes128-ctr'],
    macsIn: ['hmac-sha2-256'],
    macsOut: ['hmac-sha2-256'],
  };
  const lists = { ...none, compressionIn: ['none'], compressionOut: ['none'], languagesIn: [], languagesOut: [] };
  const stream = { write: (bytes: Buffer) => socket.write(bytes) } as unknown as BoundedStream;
  socket.on('error', () => undefined);
  socket.write('SSH-2.0-OpenSSH_9.9\r\n');
  writePacket(stream, writeKexInit({ ...lists, kex: ['curve25519-sha256'], hostKey: ['ssh-ed25519'] }));
  const half = generateKeyPairSync('x25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const signature = Buffer.concat([wireString('ssh-ed25519'), wireString(randomBytes(64))]);
  socket.once('data', () =>
    writePacket(
      stream,
      Buffer.concat([Buffer.from([MSG.kexReply]), wireString(key), wireString(half), wireString(signature)]),
    ),
  );
}

/** Accepts the first cipher suite and the version of any ClientHello without checking them. */
export function acceptFirstSuite(socket: Socket, hello: Buffer): void {
  const suites = 44 + hello.readUInt8(43) + 2;
  const body = [
    hello.subarray(9, 11),
    randomBytes(32),
    Buffer.from([0]),
    hello.subarray(suites, suites + 2),
    Buffer.from([0]),
  ];
  socket.end(serverHello(Buffer.concat(body)));
}

/** Sends a ServerHello whose session ID is longer than the message. */
export function answerTooShort(socket: Socket): void {
  socket.end(serverHello(Buffer.concat([Buffer.from([3, 3]), randomBytes(32), Buffer.from([255]), randomBytes(8)])));
}

function serverHello(body: Buffer): Buffer {
  const message = Buffer.concat([Buffer.from([2, 0, body.length >> 8, body.length & 255]), body]);
  return Buffer.concat([Buffer.from([22, 3, 3, message.length >> 8, message.length & 255]), message]);
}
