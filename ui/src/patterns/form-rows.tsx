import {
  Button,
  Checkbox,
  FormSelect,
  FormSelectOption,
  FormSelectOptionGroup,
  TextArea,
  TextInput,
} from '@patternfly/react-core';
import PlusCircleIcon from '@patternfly/react-icons/dist/esm/icons/plus-circle-icon';
import TimesIcon from '@patternfly/react-icons/dist/esm/icons/times-icon';
import { useI18n } from '../i18n/i18n.js';
import { type Field, newRow, type Option, type Row, type RowColumn } from './form-fields.js';

interface FormRowsProps {
  readonly id: string;
  readonly field: Extract<Field, { kind: 'rows' }>;
  readonly rows: readonly Row[];
  readonly onChange: (rows: readonly Row[]) => void;
}

/** FormRows edits a list of rows with the same cells. Rows can be added and removed. */
export function FormRows({ id, field, rows, onChange }: FormRowsProps) {
  const { t } = useI18n();
  const change = (at: number, cell: string, text: string) =>
    onChange(rows.map((row, index) => (index === at ? { ...row, [cell]: text } : row)));
  return (
    <div className="sw-rows">
      {rows.map((row, index) => (
        // Rows are identified only by their position.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className="sw-row" role="group" aria-label={`${field.label} ${index + 1}`}>
          {field.columns
            .filter(({ when }) => when === undefined || when(row))
            .map((column) => (
              <Cell
                key={column.name}
                id={`${id}-${index}-${column.name}`}
                column={column}
                row={row}
                isFirst={index === 0}
                onChange={(text) => change(index, column.name, text)}
              />
            ))}
          {(rows.length > 1 || !field.isRequired) && (
            <Button
              variant="plain"
              icon={<TimesIcon />}
              aria-label={t('form.removeRow', { name: `${field.label} ${index + 1}` })}
              onClick={() => onChange(rows.filter((_, at) => at !== index))}
            />
          )}
        </div>
      ))}
      <Button variant="link" isInline icon={<PlusCircleIcon />} onClick={() => onChange([...rows, newRow(field)])}>
        {field.add}
      </Button>
    </div>
  );
}

/** MAX_LINES is the number of lines after which a cell scrolls. */
const MAX_LINES = 6;

interface CellProps {
  readonly id: string;
  readonly column: RowColumn;
  /** True for the first row, which shows the labels of its cells. */
  readonly isFirst: boolean;
  readonly row: Row;
  readonly onChange: (text: string) => void;
}

function Cell(props: CellProps) {
  const { label, kind, options } = props.column;
  return (
    <div className={kind === 'number' && options === undefined ? 'sw-cell sw-cell--number' : 'sw-cell'}>
      {props.isFirst && (
        <span className="sw-cell-label" aria-hidden="true">
          {label}
        </span>
      )}
      <CellControl {...props} />
    </div>
  );
}

function CellControl({ id, column, row, onChange }: CellProps) {
  const { name, label, kind, options, placeholder = label, isOptional = false } = column;
  const text = row[name] ?? '';
  if (kind === 'choices')
    return <CellChoices id={id} label={label} options={options ?? []} text={text} onChange={onChange} />;
  if (options !== undefined) {
    return (
      <FormSelect id={id} name={name} aria-label={label} value={text} onChange={(_event, chosen) => onChange(chosen)}>
        <CellOptions options={options} />
      </FormSelect>
    );
  }
  const common = {
    id,
    name,
    'aria-label': label,
    placeholder: typeof placeholder === 'string' ? placeholder : placeholder(row),
    isRequired: !isOptional,
    autoComplete: 'off',
    value: text,
  };
  if (kind === 'lines') {
    return (
      <TextArea
        {...common}
        rows={Math.min(MAX_LINES, text.split('\n').length)}
        resizeOrientation="vertical"
        spellCheck={false}
        onChange={(_event, written) => onChange(written)}
      />
    );
  }
  return (
    <TextInput
      {...common}
      type={kind ?? 'text'}
      {...(kind === 'number' ? { min: 1 } : {})}
      onChange={(_event, written) => onChange(written)}
    />
  );
}

interface CellChoicesProps {
  readonly id: string;
  readonly label: string;
  readonly options: readonly Option[];
  /** The selected values, one per line. */
  readonly text: string;
  readonly onChange: (text: string) => void;
}

function CellChoices({ id, label, options, text, onChange }: CellChoicesProps) {
  const chosen = text.split('\n').filter(Boolean);
  const without = (value: string) => chosen.filter((one) => one !== value);
  return (
    <div role="group" aria-label={label} className="sw-cell-choices">
      {options.map(({ value, label: name }) => (
        <Checkbox
          key={value}
          id={`${id}-${value}`}
          label={name}
          isChecked={chosen.includes(value)}
          onChange={(_event, isChecked) => onChange((isChecked ? [...chosen, value] : without(value)).join('\n'))}
        />
      ))}
    </div>
  );
}

function CellOptions({ options }: { options: readonly Option[] }) {
  const groups = [...new Set(options.map(({ group }) => group))];
  const listed = (group: string | undefined) =>
    options
      .filter((option) => option.group === group)
      .map(({ value, label }) => <FormSelectOption key={value} value={value} label={label} />);
  return groups.map((group) =>
    group === undefined ? (
      listed(group)
    ) : (
      <FormSelectOptionGroup key={group} label={group}>
        {listed(group)}
      </FormSelectOptionGroup>
    ),
  );
}
