import { ifMatch } from '../../api/client.js';
import { changeSigningKey } from '../../api/generated/sdk.gen.js';
import type { SigningKeyView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { conditionsIn, useClaimsField } from '../../patterns/claim-conditions.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, FieldValue, Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';
import { DIGEST_ALGORITHMS } from '../signing/digest-algorithms.js';

const SCHEMES = ['rsa-pkcs1v15', 'rsa-pss', 'ecdsa-der', 'ecdsa-raw', 'ml-dsa'];
const FORMATS = ['raw', 'cms', 'authenticode', 'jws', 'sigstore-bundle', 'dsse', 'openpgp', 'attestation'];
const TIMESTAMPS = ['optional', 'required'];
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const WORKING_DAYS = WEEKDAYS.slice(0, 5);

interface Props {
  readonly signingKey: SigningKeyView;
  readonly onClose: () => void;
}

/** KeyTermsDialog edits usage restrictions. Empty fields set no restriction. */
export function KeyTermsDialog({ signingKey, onClose }: Props) {
  const { t } = useI18n();
  const action = useAction(
    (values: Values) =>
      changeSigningKey({
        path: { id: signingKey.id },
        body: termsOf(values, signingKey) as never,
        headers: ifMatch(signingKey.revision),
      }),
    { changes: ['getSigningKey', 'listSigningKeys'], done: t('saved') },
  );
  const fields = useFields(signingKey);
  return (
    <FormDialog
      title={t('key.terms')}
      lead={t('key.terms.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={fields}
    />
  );
}

function useFields({ notBefore, notAfter, constraints }: SigningKeyView): Field[] {
  const { t, named } = useI18n();
  const { fileNames, callers, verified, hours, timestamp, perDay, lifetime } = constraints;
  const verifiedField = useClaimsField({
    name: 'verified',
    label: t('claims.verified'),
    hint: t('claims.verified.hint'),
    value: verified,
  });
  const choices = (name: 'algorithms' | 'schemes' | 'formats', values: readonly string[]): Field => ({
    name,
    kind: 'choices',
    label: t(`key.${name}`),
    options: values.map((value) => ({ value, label: value })),
    value: constraints[name] ?? [],
  });
  return [
    { name: 'notBefore', kind: 'day', label: t('key.from'), value: dayOf(notBefore) },
    { name: 'notAfter', kind: 'day', label: t('key.until'), value: dayOf(notAfter) },
    choices('algorithms', DIGEST_ALGORITHMS),
    choices('schemes', SCHEMES),
    choices('formats', FORMATS),
    {
      name: 'fileNames',
      kind: 'lines',
      label: t('key.fileNames'),
      hint: t('key.fileNames.hint'),
      value: fileNames?.join('\n') ?? '',
    },
    {
      name: 'callers',
      kind: 'lines',
      label: t('key.callers'),
      hint: t('key.callers.hint'),
      value: callers?.join('\n') ?? '',
    },
    verifiedField,
    {
      name: 'timestamp',
      kind: 'choice',
      label: t('key.timestamp'),
      options: TIMESTAMPS.map((value) => ({ value, label: named('timestampRule', value) })),
      value: timestamp ?? '',
    },
    { name: 'perDay', kind: 'number', label: t('key.perDay'), min: 1, ...(perDay !== undefined && { value: perDay }) },
    {
      name: 'lifetime',
      kind: 'number',
      label: t('key.lifetime'),
      min: 1,
      ...(lifetime !== undefined && { value: lifetime }),
    },
    ...useHours(hours),
  ];
}

function useHours(hours: SigningKeyView['constraints']['hours']): Field[] {
  const { t, named } = useI18n();
  const isTimed = (values: Values) => values['isTimed'] === true;
  return [
    { name: 'isTimed', kind: 'yes', label: t('key.hours.only'), value: hours !== undefined },
    {
      name: 'days',
      kind: 'choices',
      label: t('key.days'),
      options: WEEKDAYS.map((value) => ({ value, label: named('weekday', value) })),
      value: hours?.days ?? WORKING_DAYS,
      when: isTimed,
    },
    { name: 'from', label: t('key.hours.from'), isRequired: true, value: hours?.from ?? '08:00', when: isTimed },
    { name: 'until', label: t('key.hours.until'), isRequired: true, value: hours?.until ?? '18:00', when: isTimed },
    {
      name: 'timeZone',
      label: t('schedules.timeZone'),
      isRequired: true,
      value: hours?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
      when: isTimed,
    },
  ];
}

/** termsOf returns the request body. Emptied dates are removed; unchanged dates keep their exact time. */
function termsOf(values: Values, { notBefore, notAfter }: SigningKeyView) {
  const { notBefore: from, notAfter: until, isTimed, days, from: begins, until: ends, timeZone, ...others } = values;
  const limits = { ...others, verified: conditionsIn(others['verified']) };
  const constraints = Object.fromEntries(Object.entries(limits).filter(([, value]) => !isEmpty(value)));
  const hours = isTimed === true ? { hours: { days, from: begins, until: ends, timeZone } } : {};
  return {
    ...dateOf('notBefore', from, notBefore, firstSecond),
    ...dateOf('notAfter', until, notAfter, (time) => time),
    constraints: { ...constraints, ...hours },
  };
}

function isEmpty(value: FieldValue): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

function dateOf(name: string, chosen: FieldValue, before: string | undefined, at: (time: string) => string): object {
  if (typeof chosen !== 'string') return { [name]: null };
  return dayOf(chosen) === dayOf(before) ? {} : { [name]: at(chosen) };
}

/** dayOf returns the local day as YYYY-MM-DD, or an empty string without a time. */
function dayOf(time: string | undefined): string {
  if (time === undefined) return '';
  const at = new Date(time);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** firstSecond returns the first second of the local day, whereas the form field returns the last. */
function firstSecond(time: string): string {
  const at = new Date(time);
  at.setHours(0, 0, 0, 0);
  return at.toISOString();
}
