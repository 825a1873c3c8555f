import { CKF, CKR } from '../../../formats/pkcs/cryptoki.js';
import { mechanismInfo } from './mechanisms.js';
import { SLOT, type Token } from './token.js';
import { CryptokiFault, type Room, type RpcReader, RpcWriter } from './rpc-message.js';

/** A call in the p11-kit protocol: its handler, and the types of its arguments and response in the protocol's notation. */
interface Call {
  readonly request: string;
  readonly response: string;
  answer(token: Token, args: RpcReader): RpcWriter | Promise<RpcWriter>;
}

const MAKER = 'Sealwright';
/** CK_EFFECTIVELY_INFINITE, the value for a number without a limit. */
const NO_LIMIT = 0;
/** Size of the key handle, the CK_ULONG that follows the mechanism in C_SignInit. */
const KEY_BYTES = 8;
/** Room for a response whose length has already been checked. */
const ENOUGH: Room = { asksLength: false, size: Number.MAX_SAFE_INTEGER };

/** Defines a call that reads all its arguments before it has any effect. */
function call<Args>(
  request: string,
  response: string,
  read: (args: RpcReader) => Args,
  run: (token: Token, args: Args) => RpcWriter | Promise<RpcWriter>,
): Call {
  return {
    request,
    response,
    answer: (token, reader) => {
      const args = read(reader);
      reader.end();
      return run(token, args);
    },
  };
}

/** Defines a call with an empty response. */
function act<Args>(
  request: string,
  read: (args: RpcReader) => Args,
  work: (token: Token, args: Args) => void | Promise<void>,
): Call {
  return call(request, '', read, async (token, args) => {
    await work(token, args);
    return new RpcWriter();
  });
}

/** Defines a call that would modify the token, and therefore always fails. */
function refused(request: string): Call {
  return {
    request,
    response: '',
    answer: () => {
      throw new CryptokiFault(CKR.TOKEN_WRITE_PROTECTED);
    },
  };
}

const nothing = () => undefined;
const one = (args: RpcReader) => args.ulong();
const two = (args: RpcReader) => [args.ulong(), args.ulong()] as const;
const roomed = (args: RpcReader) => [args.ulong(), args.room()] as const;
const data = (args: RpcReader) => [args.ulong(), args.byteArray()] as const;

/** Reads a login. Any PIN is accepted, because every program that can connect to the socket may use the keys. */
const readLogin = (args: RpcReader) => {
  const [session, user] = two(args);
  args.byteArray();
  return [session, user] as const;
};

const GENERAL: readonly (readonly [number, Call])[] = [
  [
    1, // C_Initialize
    act(
      'ayyay',
      (args) => {
        args.byteArray();
        args.byte();
        args.byteArray();
      },
      (token) => token.initialize(),
    ),
  ],
  [2, act('', nothing, (token) => token.finalize())],
  [3, call('', 'vsusv', nothing, libraryInfo)],
  [
    4, // C_GetSlotList
    call(
      'yfu',
      'au',
      (args) => {
        args.byte();
        return args.room();
      },
      (token, room) => {
        token.assertSlot(SLOT);
        return new RpcWriter().ulongArray([SLOT], room);
      },
    ),
  ],
  [5, call('u', 'ssuvv', one, slotInfo)],
  [6, call('u', 'ssssuuuuuuuuuuuvvs', one, tokenInfo)],
  [7, call('ufu', 'au', roomed, (token, [slot, room]) => new RpcWriter().ulongArray(token.mechanisms(slot), room))],
  [8, call('uu', 'uuu', two, mechanismAnswer)],
];

const SESSIONS: readonly (readonly [number, Call])[] = [
  [10, call('uu', 'u', two, (token, [slot, flags]) => new RpcWriter().ulong(token.openSession(slot, flags)))],
  [11, act('u', one, ({ sessions }, session) => sessions.close(session))],
  [12, act('u', one, (token, slot) => token.closeAllSessions(slot))],
  [13, call('u', 'uuuu', one, sessionInfo)],
  [18, act('uuay', readLogin, (token, [session, user]) => token.login(session, user))],
  [19, act('u', one, (token, session) => token.logout(session))],
  [
    66, // C_LoginUser
    act(
      'uuayay',
      (args) => {
        const login = readLogin(args);
        args.byteArray();
        return login;
      },
      (token, [session, user]) => token.login(session, user),
    ),
  ],
  [67, act('uu', two, (token, [session]) => token.cancel(session))],
];

const OBJECTS: readonly (readonly [number, Call])[] = [
  [24, call('uufA', 'aAu', (args) => [two(args), args.attributeRooms()] as const, attributes)],
  [26, act('uaA', (args) => [args.ulong(), args.template()] as const, (token, [session, wanted]) => token.findInit(session, wanted))], // prettier-ignore
  [27, call('ufu', 'au', roomed, (token, [session, room]) => new RpcWriter().ulongArray(token.find(session, room), ENOUGH))], // prettier-ignore
  [28, act('u', one, (token, session) => token.findFinal(session))],
];

const SIGNING: readonly (readonly [number, Call])[] = [
  [
    42, // C_SignInit
    act(
      'uMu',
      (args) => [args.ulong(), args.mechanism(KEY_BYTES), args.ulong()] as const,
      (token, [session, mechanism, key]) => token.signInit(session, mechanism, key),
    ),
  ],
  [
    43, // C_Sign
    call(
      'uayfy',
      'ay',
      (args) => [args.ulong(), args.byteArray(), args.room()] as const,
      async (token, [session, bytes, room]) => signature(await token.sign(session, bytes, room)),
    ),
  ],
  [44, act('uay', data, (token, [session, part]) => token.signUpdate(session, part))],
  [45, call('ufy', 'ay', roomed, async (token, [session, room]) => signature(await token.signFinal(session, room)))],
  [64, call('ufy', 'ay', roomed, (token, [session, room]) => new RpcWriter().byteArray(token.random(session, room), ENOUGH))], // prettier-ignore
];

/**
 * Calls that write to the token: C_InitToken, C_InitPIN, C_SetPIN, C_CreateObject, C_CopyObject, C_DestroyObject, C_SetAttributeValue, C_GenerateKey,
 * C_GenerateKeyPair.
 */
const WRITING = {
  9: 'uayz',
  14: 'uay',
  15: 'uayay',
  20: 'uaA',
  21: 'uuaA',
  22: 'uu',
  25: 'uuaA',
  58: 'uMaA',
  59: 'uMaAaA',
};

/** Calls by number. The number is the position of the function in the function list of PKCS #11. Number 0 is p11-kit's own ERROR. */
export const CALLS: ReadonlyMap<number, Call> = new Map([
  ...GENERAL,
  ...SESSIONS,
  ...OBJECTS,
  ...SIGNING,
  ...Object.entries(WRITING).map(([number, request]) => [Number(number), refused(request)] as const),
]);

function libraryInfo(): RpcWriter {
  return new RpcWriter().version(2, 40).padded(MAKER, 32).ulong(0).padded('Sealwright agent', 32).version(1, 0);
}

function slotInfo(token: Token, slot: number): RpcWriter {
  token.assertSlot(slot);
  const answer = new RpcWriter().padded('Keys of Sealwright', 64).padded(MAKER, 32).ulong(CKF.TOKEN_PRESENT);
  return answer.version(1, 0).version(1, 0);
}

function tokenInfo(token: Token, slot: number): RpcWriter {
  const { flags, sessions, readWriteSessions } = token.info(slot);
  const answer = new RpcWriter().padded('sealwright', 32).padded(MAKER, 32).padded('agent', 16).padded('1', 16);
  const longestPin = 255;
  const memory = [0, 0, 0, 0];
  for (const number of [flags, NO_LIMIT, sessions, NO_LIMIT, readWriteSessions, longestPin, 0, ...memory])
    answer.ulong(number);
  return answer.version(1, 0).version(1, 0).padded('', 16);
}

function mechanismAnswer(token: Token, [slot, type]: readonly [number, number]): RpcWriter {
  token.assertMechanism(slot, type);
  const { minBits, maxBits, flags } = mechanismInfo(type);
  return new RpcWriter().ulong(minBits).ulong(maxBits).ulong(flags);
}

function sessionInfo({ sessions }: Token, handle: number): RpcWriter {
  const session = sessions.get(handle);
  return new RpcWriter().ulong(SLOT).ulong(sessions.stateOf(session)).ulong(session.flags).ulong(0);
}

type Rooms = ReturnType<RpcReader['attributeRooms']>;

function attributes(token: Token, [[session, object], rooms]: readonly [readonly [number, number], Rooms]): RpcWriter {
  const { values, code } = token.attributes(session, object, rooms);
  const answer = new RpcWriter().uint32(values.length);
  for (const { type, value } of values) answer.attribute(type, value);
  return answer.ulong(code);
}

/** Encodes a signature, or the length of a signature that was not made. */
function signature(signed: Buffer | number): RpcWriter {
  return typeof signed === 'number'
    ? new RpcWriter().byte(0).uint32(signed)
    : new RpcWriter().byteArray(signed, ENOUGH);
}
