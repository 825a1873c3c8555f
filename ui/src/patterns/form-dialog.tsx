import {
  Button,
  Checkbox,
  Form,
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  HelperText,
  HelperTextItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  TextArea,
  TextInput,
} from '@patternfly/react-core';
import type { UseMutationResult } from '@tanstack/react-query';
import { type SyntheticEvent, useId, useState } from 'react';
import type { ApiProblem } from '../api/problem.js';
import { useI18n } from '../i18n/i18n.js';
import { Problem } from './problem.js';

interface Common {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly isRequired?: boolean;
  /** Asked for only where this holds; left out otherwise. */
  readonly when?: (values: Values) => boolean;
}

interface Option {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}

export type Field = Common &
  (
    | {
        readonly kind?: 'text' | 'url' | 'email' | 'password' | 'area' | 'lines';
        readonly value?: string;
        readonly placeholder?: string;
      }
    | { readonly kind: 'json'; readonly value?: object }
    | { readonly kind: 'number'; readonly value?: number; readonly min?: number; readonly max?: number }
    | { readonly kind: 'day'; readonly value?: string }
    | { readonly kind: 'choice'; readonly options: readonly Option[]; readonly value?: string }
    | { readonly kind: 'choices'; readonly options: readonly Option[]; readonly value?: readonly string[] }
    | { readonly kind: 'yes'; readonly value?: boolean }
  );

export type FieldValue = string | number | boolean | readonly string[] | object | undefined;
/** What was filled in; an optional field that was left empty is undefined. */
export type Values = Readonly<Record<string, FieldValue>>;

/** What was typed or chosen; empty for what is no text. */
export const textOf = (value: FieldValue): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

interface FormDialogProps {
  readonly title: string;
  readonly lead?: string;
  readonly submit: string;
  readonly fields: readonly Field[];
  readonly action: UseMutationResult<unknown, ApiProblem, Values>;
  readonly isDanger?: boolean;
  readonly onClose: () => void;
}

function firstOf(field: Field): FieldValue {
  if (field.kind === 'choices') return field.value ?? [];
  if (field.kind === 'yes') return field.value ?? false;
  if (field.kind === 'json') return JSON.stringify(field.value ?? {}, null, 2);
  if (field.kind === 'choice') return field.value ?? (field.isRequired ? field.options[0]?.value : '');
  return field.value ?? '';
}

/** Empty texts are left out, lines become a list, a day becomes its last second. */
function sendable(field: Field, value: FieldValue): FieldValue {
  // Its options came after the form was opened: the first one is shown.
  if (field.kind === 'choice' && field.isRequired && !value) return field.options[0]?.value;
  if (field.kind === 'lines' && typeof value === 'string') {
    const lines = value
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
    return lines.length === 0 && !field.isRequired ? undefined : lines;
  }
  if (value === '') return undefined;
  if (field.kind === 'json') return readObject(value);
  if (field.kind === 'number') return Number(value);
  if (field.kind === 'day') return new Date(`${textOf(value)}T23:59:59`).toISOString();
  return typeof value === 'string' ? value.trim() : value;
}

function readObject(text: FieldValue): object | undefined {
  try {
    const value: unknown = JSON.parse(textOf(text));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A small form over the page: fields, what went wrong, and the keyboard's Enter and Escape. */
export function FormDialog({ title, lead, submit, fields, action, isDanger = false, onClose }: FormDialogProps) {
  const { t } = useI18n();
  const id = useId();
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(fields.map((field) => [field.name, firstOf(field)])),
  );
  const [unreadable, setUnreadable] = useState<string>();
  const shown = fields.filter(({ when }) => when === undefined || when(values));
  const send = (event: SyntheticEvent) => {
    event.preventDefault();
    const filled = Object.fromEntries(shown.map((field) => [field.name, sendable(field, values[field.name])]));
    const wrong = shown.find(({ kind, name }) => kind === 'json' && filled[name] === undefined);
    setUnreadable(wrong?.name);
    if (wrong === undefined) action.mutate(filled, { onSuccess: onClose });
  };
  return (
    <Modal
      isOpen
      variant={fields.some(({ kind }) => kind === 'choices') ? 'medium' : 'small'}
      onClose={onClose}
      aria-labelledby={`${id}-title`}
    >
      <ModalHeader title={title} labelId={`${id}-title`} {...(lead === undefined ? {} : { description: lead })} />
      <ModalBody>
        <Form id={id} onSubmit={send}>
          {action.isError && <Problem error={action.error} />}
          {shown.map((field, index) => (
            <FieldRow
              key={field.name}
              id={`${id}-${field.name}`}
              field={field}
              isFirst={index === 0}
              isUnreadable={unreadable === field.name}
              value={values[field.name]}
              onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
            />
          ))}
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button
          type="submit"
          form={id}
          variant={isDanger ? 'danger' : 'primary'}
          isLoading={action.isPending}
          isDisabled={action.isPending}
        >
          {submit}
        </Button>
        <Button variant="link" onClick={onClose}>
          {t('cancel')}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

interface RowProps {
  readonly id: string;
  readonly field: Field;
  readonly isFirst: boolean;
  readonly isUnreadable?: boolean;
  readonly value: FieldValue;
  readonly onChange: (value: FieldValue) => void;
}

function FieldRow({ id, field, isFirst, isUnreadable = false, value, onChange }: RowProps) {
  const { t } = useI18n();
  if (field.kind === 'yes') {
    return (
      <Checkbox
        id={id}
        label={field.label}
        {...(field.hint === undefined ? {} : { description: field.hint })}
        isChecked={value === true}
        onChange={(_event, checked) => onChange(checked)}
      />
    );
  }
  const group = field.kind === 'choices';
  return (
    <FormGroup
      label={field.label}
      isRequired={field.isRequired ?? false}
      {...(group ? { role: 'group', fieldId: id } : { fieldId: id })}
    >
      <Control id={id} field={field} isFirst={isFirst} value={value} onChange={onChange} />
      {(isUnreadable || field.hint !== undefined) && (
        <FormHelperText>
          <HelperText>
            <HelperTextItem variant={isUnreadable ? 'error' : 'default'}>
              {isUnreadable ? t('form.noObject') : field.hint}
            </HelperTextItem>
          </HelperText>
        </FormHelperText>
      )}
    </FormGroup>
  );
}

function inputType({ kind }: Field): 'text' | 'url' | 'email' | 'password' | 'number' | 'date' {
  if (kind === 'day') return 'date';
  return kind === 'url' || kind === 'email' || kind === 'password' || kind === 'number' ? kind : 'text';
}

function Control({ id, field, isFirst, value, onChange }: RowProps) {
  const text = typeof value === 'string' || typeof value === 'number' ? value : '';
  const isRequired = field.isRequired ?? false;
  if (field.kind === 'choice') {
    return (
      <FormSelect id={id} value={text} onChange={(_event, chosen) => onChange(chosen)}>
        {!isRequired && <FormSelectOption value="" label="–" />}
        {field.options.map(({ value: one, label }) => (
          <FormSelectOption key={one} value={one} label={label} />
        ))}
      </FormSelect>
    );
  }
  if (field.kind === 'choices') {
    return <Choices id={id} options={field.options} value={Array.isArray(value) ? value : []} onChange={onChange} />;
  }
  if (field.kind === 'area' || field.kind === 'lines' || field.kind === 'json') {
    return (
      <TextArea
        id={id}
        value={text}
        rows={5}
        resizeOrientation="vertical"
        isRequired={isRequired}
        autoFocus={isFirst}
        {...(field.kind === 'json' ? { className: 'sw-mono', spellCheck: false } : { placeholder: field.placeholder })}
        onChange={(_event, written) => onChange(written)}
      />
    );
  }
  return (
    <TextInput
      id={id}
      type={inputType(field)}
      value={text}
      isRequired={isRequired}
      autoFocus={isFirst}
      {...(field.kind === 'number' ? { min: field.min, max: field.max } : {})}
      {...(field.kind === 'password' ? { autoComplete: 'new-password' } : { autoComplete: 'off' })}
      {...('placeholder' in field ? { placeholder: field.placeholder } : {})}
      onChange={(_event, written) => onChange(written)}
    />
  );
}

interface ChoicesProps {
  readonly id: string;
  readonly options: readonly Option[];
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
}

function Choices({ id, options, value, onChange }: ChoicesProps) {
  return (
    <div className="sw-choices">
      {options.map(({ value: one, label, hint }) => (
        <Checkbox
          key={one}
          id={`${id}-${one}`}
          label={label}
          {...(hint === undefined ? {} : { description: hint })}
          isChecked={value.includes(one)}
          onChange={(_event, checked) => onChange(checked ? [...value, one] : value.filter((each) => each !== one))}
        />
      ))}
    </div>
  );
}
