import { Checkbox, FormSelect, FormSelectOption, TextArea, TextInput } from '@patternfly/react-core';
import type { Field, FieldValue, Option, Row } from './form-fields.js';
import { FormRows } from './form-rows.js';

export interface ControlProps {
  readonly id: string;
  readonly field: Field;
  /** Focused when the form opens. */
  readonly isFirst: boolean;
  readonly value: FieldValue;
  readonly onChange: (value: FieldValue) => void;
}

/** Control renders the input for the value of a field. */
export function Control(props: ControlProps) {
  const { id, field, value, onChange } = props;
  if (field.kind === 'choice') return <Choice id={id} field={field} value={shownText(value)} onChange={onChange} />;
  if (field.kind === 'choices') {
    return <Choices id={id} options={field.options} value={(value ?? []) as readonly string[]} onChange={onChange} />;
  }
  if (field.kind === 'rows') {
    return <FormRows id={id} field={field} rows={(value ?? []) as readonly Row[]} onChange={onChange} />;
  }
  return field.kind === 'area' || field.kind === 'lines' || field.kind === 'json' ? (
    <Paragraph {...props} />
  ) : (
    <Line {...props} />
  );
}

const shownText = (value: FieldValue): string | number =>
  typeof value === 'string' || typeof value === 'number' ? value : '';

function Paragraph({ id, field, isFirst, value, onChange }: ControlProps) {
  return (
    <TextArea
      id={id}
      value={shownText(value)}
      rows={field.kind === 'lines' ? 3 : 5}
      resizeOrientation="vertical"
      isRequired={field.isRequired ?? false}
      autoFocus={isFirst}
      {...(field.kind === 'json' ? { className: 'sw-mono', spellCheck: false } : {})}
      {...('placeholder' in field ? { placeholder: field.placeholder } : {})}
      onChange={(_event, written) => onChange(written)}
    />
  );
}

function Line({ id, field, isFirst, value, onChange }: ControlProps) {
  return (
    <TextInput
      id={id}
      type={inputType(field)}
      value={shownText(value)}
      isRequired={field.isRequired ?? false}
      autoFocus={isFirst}
      {...(field.kind === 'number' ? { min: field.min, max: field.max } : {})}
      {...(field.kind === 'password' ? { autoComplete: 'new-password' } : { autoComplete: 'off' })}
      {...('placeholder' in field ? { placeholder: field.placeholder } : {})}
      onChange={(_event, written) => onChange(written)}
    />
  );
}

interface ChoiceProps {
  readonly id: string;
  readonly field: Extract<Field, { kind: 'choice' }>;
  readonly value: string | number;
  readonly onChange: (value: string) => void;
}

function Choice({ id, field, value, onChange }: ChoiceProps) {
  return (
    <FormSelect id={id} value={value} onChange={(_event, chosen) => onChange(chosen)}>
      {!(field.isRequired ?? false) && <FormSelectOption value="" label="–" />}
      {field.options.map(({ value: one, label }) => (
        <FormSelectOption key={one} value={one} label={label} />
      ))}
    </FormSelect>
  );
}

function inputType({ kind }: Field): 'text' | 'url' | 'email' | 'password' | 'number' | 'date' {
  if (kind === 'day') return 'date';
  return kind === 'url' || kind === 'email' || kind === 'password' || kind === 'number' ? kind : 'text';
}

interface ChoicesProps {
  readonly id: string;
  readonly options: readonly Option[];
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
}

function Choices({ options, ...rest }: ChoicesProps) {
  const groups = [...Map.groupBy(options, ({ group }) => group)];
  return groups.map(([group, grouped]) =>
    group === undefined ? (
      <Checkboxes key="" options={grouped} {...rest} />
    ) : (
      <fieldset key={group} className="sw-choice-group">
        <legend>{group}</legend>
        <Checkboxes options={grouped} {...rest} />
      </fieldset>
    ),
  );
}

function Checkboxes({ id, options, value, onChange }: ChoicesProps) {
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
