import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Max,
  MaxLength,
  Min,
  ValidateNested,
  type ValidationOptions,
} from 'class-validator';
import { IsDateTime, IsDay, IsPlainName, JsonAtMost, WholeNumber } from '../field-rules.js';

/** Schema holds the OpenAPI properties of a field that do not follow from its validation rules, such as an example or a default. */
type Schema = Omit<ApiPropertyOptions, 'type' | 'required' | 'enumName' | 'enumSchema' | 'selfRequired'>;
type Rule = (options?: ValidationOptions) => PropertyDecorator;
type Class<Value extends object = object> = new () => Value;

/**
 * Field decorates one property of a request body or query. The decorator validates the value and describes it in OpenAPI. Type, description and
 * default value come from the property itself.
 */
export interface Field extends PropertyDecorator {
  readonly rules: readonly Rule[];
  readonly schema: ApiPropertyOptions;
}

/** ListLimits bounds the number of items of a list; `unique` forbids equal items. */
interface ListLimits {
  min?: number;
  max?: number;
  unique?: boolean;
}

/** Text is a string of `min` to `max` characters. */
export function Text(min: number, max: number, schema: Schema = {}): Field {
  const lengths = min === 0 ? { maxLength: max } : { minLength: min, maxLength: max };
  const length: Rule = (options) => (min === 0 ? MaxLength(max, options) : Length(min, max, options));
  return field([IsString, length], { type: String, ...lengths, ...schema });
}

/** IdRef is the UUID of a resource. The property contains the UUID in lowercase, as in PostgreSQL and in the audit log. */
export function IdRef(schema: Schema = {}): Field {
  const rules: Rule[] = [
    (options) => IsUUID(undefined, options),
    () => Transform(({ value }: { value: unknown }) => lowerCased(value)),
  ];
  return field(rules, { type: String, format: 'uuid', ...schema });
}

/** Int is a whole number from `min` to `max`. */
export function Int(min: number, max?: number, schema: Schema = {}): Field {
  const rules: Rule[] = [IsInt, (options) => Min(min, options)];
  if (max !== undefined) rules.push((options) => Max(max, options));
  return field(rules, { type: Number, minimum: min, ...(max === undefined ? {} : { maximum: max }), ...schema });
}

/** QueryInt is an Int in a query parameter, where only plain digits are accepted. */
export function QueryInt(min: number, max?: number, schema: Schema = {}): Field {
  const number = Int(min, max, schema);
  return field([WholeNumber, ...number.rules], number.schema);
}

/** Flag is a boolean. */
export function Flag(schema: Schema = {}): Field {
  return field([IsBoolean], { type: Boolean, ...schema });
}

/** Moment is an RFC 3339 date and time. The property holds a Date. */
export function Moment(schema: Schema = {}): Field {
  return field([IsDateTime], { format: 'date-time', type: String, ...schema });
}

/** Name is a human-readable name of `min` to `max` characters that cannot be mistaken for another name. */
export function Name(min: number, max: number, schema: Schema = {}): Field {
  const { rules, schema: text } = Text(min, max, schema);
  return field([...rules, IsPlainName], text);
}

/** Day is a calendar day, YYYY-MM-DD. */
export function Day(schema: Schema = {}): Field {
  return field([IsDay], { type: String, ...schema });
}

/** OneOf is one of the given values. */
export function OneOf(values: readonly (string | number)[], schema: Schema = {}): Field {
  return field([(options) => IsIn(values, options)], { enum: [...values], ...schema });
}

/** JsonObject is an object with arbitrary members whose JSON is at most `characters` characters long. */
export function JsonObject(characters: number, schema: Schema = {}): Field {
  const described = { type: 'object', additionalProperties: true, ...schema };
  return field([IsObject, (options) => JsonAtMost(characters, options)], described as ApiPropertyOptions);
}

/** Nested is an object with the fields of `type`. */
export function Nested(type: Class, schema: Schema = {}): Field {
  return field([ValidateNested, () => Type(() => type)], { type: () => type, ...schema });
}

/** ListOf is a list whose items satisfy `item`: a field, or a class with fields. */
export function ListOf(item: Field | Class, { min, max, unique, ...schema }: ListLimits & Schema = {}): Field {
  const { rules, schema: one } = isField(item) ? item : Nested(item);
  const own: Rule[] = [IsArray];
  if (min !== undefined) own.push((options) => ArrayMinSize(min, options));
  if (max !== undefined) own.push((options) => ArrayMaxSize(max, options));
  if (unique === true) own.push((options) => ArrayUnique(options));
  const limits = { minItems: min, maxItems: max, uniqueItems: unique };
  const described = { ...one, isArray: true, ...limits, ...schema };
  return field([...own, ...rules.map((rule) => () => rule({ each: true }))], described);
}

/** Optional makes a field optional. Null is rejected unless the property is Nullable. */
export function Optional({ rules, schema }: Field): Field {
  return field([() => IsOptional(), ...rules], { ...schema, required: false } as ApiPropertyOptions);
}

function lowerCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowerCased);
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function isField(item: Field | Class): item is Field {
  return 'rules' in item;
}

/** Returns a field with these rules. Registers the last rule first, in the order in which stacked decorators are applied. */
export function field(rules: readonly Rule[], schema: ApiPropertyOptions): Field {
  const decorate: PropertyDecorator = (target, name) => {
    for (const rule of rules.toReversed()) rule()(target, name);
    ApiProperty(schema)(target, name);
  };
  return Object.assign(decorate, { rules, schema });
}
