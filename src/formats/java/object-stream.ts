import { DataInput } from './data-input.js';

/** JavaValue is a value that key stores need: bytes, text, or an object with its fields. Any other value is null. */
export type JavaValue = Buffer | string | JavaObject | null;

export interface JavaObject {
  readonly className: string;
  /** Fields of the class and its superclasses, by name. */
  readonly fields: ReadonlyMap<string, JavaValue>;
}

interface ClassDesc {
  readonly name: string;
  readonly flags: number;
  readonly fields: readonly { readonly type: string; readonly name: string }[];
  readonly above: ClassDesc | undefined;
}

const HEADER = 0xaced0005;
const TC = {
  null: 0x70,
  reference: 0x71,
  classDesc: 0x72,
  object: 0x73,
  string: 0x74,
  array: 0x75,
  class: 0x76,
  blockData: 0x77,
  endBlockData: 0x78,
  reset: 0x79,
  blockDataLong: 0x7a,
  longString: 0x7c,
  enum: 0x7e,
} as const;
const SC = { writeMethod: 1, serializable: 2, externalizable: 4, blockData: 8 } as const;
const SIZES: Readonly<Record<string, number>> = { B: 1, Z: 1, C: 2, S: 2, I: 4, F: 4, J: 8, D: 8 };
const BASE_HANDLE = 0x7e0000;
const MAX_DEPTH = 32;
const MAX_CONTENTS = 10_000;

/**
 * Reads the single object in a Java object stream (Java Object Serialization Specification, chapter 6) at offset `at`. Returns the object and its end
 * offset. No class is loaded and no code is run.
 *
 * @throws RangeError if there is no object or its length cannot be determined
 */
export function readJavaObject(bytes: Buffer, at: number): { readonly value: JavaValue; readonly end: number } {
  const stream = new ObjectStream(bytes, at);
  return { value: stream.only(), end: stream.position };
}

class ObjectStream extends DataInput {
  private readonly handles: unknown[] = [];
  private depth = 0;
  private contents = 0;

  only(): JavaValue {
    if (this.number() !== HEADER) throw new RangeError('not a Java object stream');
    return this.content();
  }

  private content(type = this.octet()): JavaValue {
    this.depth += 1;
    this.contents += 1;
    if (this.depth > MAX_DEPTH || this.contents > MAX_CONTENTS)
      throw new RangeError('the Java object has too many parts');
    const value = this.contentOf(type);
    this.depth -= 1;
    return value;
  }

  private contentOf(type: number): JavaValue {
    switch (type) {
      case TC.null:
        return null;
      case TC.reference:
        return asValue(this.handle());
      case TC.string:
      case TC.longString:
        return this.string(type);
      case TC.object:
        return this.object();
      case TC.array:
        return this.array();
      case TC.enum:
        return this.constant();
      case TC.blockData:
        return this.take(this.octet());
      case TC.blockDataLong:
        return this.take(this.number());
      case TC.class:
        this.handles.push(this.classDesc());
        return null;
      default:
        throw new RangeError('the Java object contains an unsupported type code');
    }
  }

  private object(): JavaObject {
    const desc = this.classDesc();
    if (desc === undefined) throw new RangeError('the Java object has no class');
    const fields = new Map<string, JavaValue>();
    const object = { className: desc.name, fields };
    this.handles.push(object);
    for (const one of lineage(desc)) this.classData(one, fields);
    return object;
  }

  /** Reads the fields, then the additional data written by the class. */
  private classData({ flags, fields }: ClassDesc, into: Map<string, JavaValue>): void {
    if ((flags & SC.serializable) !== 0) {
      for (const { type, name } of fields) into.set(name, this.field(type));
      if ((flags & SC.writeMethod) !== 0) this.annotation();
    } else if ((flags & SC.externalizable) !== 0) {
      if ((flags & SC.blockData) === 0) throw new RangeError('the Java object has no length');
      this.annotation();
    }
  }

  private field(type: string): JavaValue {
    const size = SIZES[type];
    if (size === undefined) return this.content();
    this.take(size);
    return null;
  }

  private array(): JavaValue {
    const desc = this.classDesc();
    const index = this.handles.push(null) - 1;
    const length = this.number();
    const type = desc?.name.charAt(1) ?? '';
    const size = SIZES[type];
    if (size === undefined) {
      for (let count = 0; count < length; count += 1) this.content();
      return null;
    }
    const bytes = this.take(length * size);
    this.handles[index] = bytes;
    return type === 'B' ? bytes : null;
  }

  private constant(): JavaValue {
    this.classDesc();
    const index = this.handles.push(null) - 1;
    const name = this.content();
    this.handles[index] = name;
    return name;
  }

  private classDesc(): ClassDesc | undefined {
    const type = this.octet();
    if (type === TC.null) return undefined;
    if (type === TC.reference) return this.handle() as ClassDesc;
    if (type !== TC.classDesc) throw new RangeError('the Java class is not supported');
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw new RangeError('the Java object has too many parts');
    const name = this.text();
    this.take(8);
    const made: { -readonly [Member in keyof ClassDesc]: ClassDesc[Member] } = {
      name,
      flags: 0,
      fields: [],
      above: undefined,
    };
    this.handles.push(made);
    made.flags = this.octet();
    made.fields = Array.from({ length: this.short() }, () => this.fieldDesc());
    this.annotation();
    made.above = this.classDesc();
    this.depth -= 1;
    return made;
  }

  private fieldDesc() {
    const type = String.fromCharCode(this.octet());
    const name = this.text();
    if (SIZES[type] === undefined) this.content();
    return { type, name };
  }

  private annotation(): void {
    for (let type = this.octet(); type !== TC.endBlockData; type = this.octet()) this.content(type);
  }

  private string(type: number): string {
    const index = this.handles.push('') - 1;
    const length = type === TC.string ? this.short() : Number(this.take(8).readBigUInt64BE());
    const text = this.take(length).toString('utf8');
    this.handles[index] = text;
    return text;
  }

  private handle(): unknown {
    const index = this.number() - BASE_HANDLE;
    if (index < 0 || index >= this.handles.length)
      throw new RangeError('the Java object contains a dangling reference');
    return this.handles[index];
  }
}

function asValue(held: unknown): JavaValue {
  if (typeof held === 'string' || Buffer.isBuffer(held)) return held;
  return typeof held === 'object' && held !== null && 'className' in held ? (held as JavaObject) : null;
}

/** Returns the classes from the topmost superclass down, which is the order of their data. A class appears once, even in a malformed stream. */
function lineage(desc: ClassDesc): ClassDesc[] {
  const all = new Set<ClassDesc>();
  for (let one: ClassDesc | undefined = desc; one !== undefined && !all.has(one); one = one.above) all.add(one);
  return [...all].reverse();
}
