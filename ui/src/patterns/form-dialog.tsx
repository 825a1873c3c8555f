import {
  Button,
  Checkbox,
  Form,
  FormGroup,
  FormHelperText,
  HelperText,
  HelperTextItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
} from '@patternfly/react-core';
import type { UseMutationResult } from '@tanstack/react-query';
import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef, useState } from 'react';
import type { ApiProblem } from '../api/problem.js';
import { useI18n } from '../i18n/i18n.js';
import { Control, type ControlProps } from './form-controls.js';
import {
  type Field,
  type FieldValue,
  initialValueOf,
  type RowColumn,
  submittedValueOf,
  type Values,
} from './form-fields.js';
import { useKeptText } from './kept-text.js';
import { Problem } from './problem.js';
import { useStepUp } from './step-up.js';

const WIDE = ['choices', 'rows'];
/** FEW_CELLS is the maximum number of cells per row in a dialog of medium size. */
const FEW_CELLS = 4;

const isWide = (columns: readonly RowColumn[]) =>
  columns.length > FEW_CELLS || columns.some(({ kind }) => kind === 'choices');

function sizeOf(fields: readonly Field[]): 'small' | 'medium' | 'large' {
  if (fields.some((field) => field.kind === 'rows' && isWide(field.columns))) return 'large';
  return fields.some(({ kind = 'text' }) => WIDE.includes(kind)) ? 'medium' : 'small';
}

/** Trial is a second button that tests the input and leaves the form open. */
interface Trial {
  readonly name: string;
  readonly action: UseMutationResult<unknown, ApiProblem, Values>;
  /** Whether the values can be tested. Defaults to always. */
  readonly when?: (values: Values) => boolean;
  /** Result of the trial, shown below the fields. */
  readonly found: ReactNode;
}

interface FormDialogProps {
  readonly title: string;
  readonly lead?: string;
  readonly submit: string;
  readonly fields: readonly Field[];
  readonly action: UseMutationResult<unknown, ApiProblem, Values>;
  readonly isDanger?: boolean;
  readonly onClose: () => void;
  readonly trial?: Trial;
  /** Content below the fields that depends on the input. */
  readonly note?: (values: Values) => ReactNode;
  /** Content above the fields. */
  readonly children?: ReactNode;
}

/** FormDialog shows fields and the problem of a failed submission. Enter submits, Escape closes. */
export function FormDialog(props: FormDialogProps) {
  const { title, lead, submit, fields, action, isDanger = false, onClose, trial, note, children } = props;
  const { t } = useI18n();
  const { isAsking } = useStepUp();
  const id = useId();
  const { before: kept, keep } = useKeptText(fields);
  // Initial values, such as options, may arrive after the form was opened.
  const [touched, setTouched] = useState<Values>(kept);
  const values: Values = {
    ...Object.fromEntries(fields.map((field) => [field.name, initialValueOf(field)])),
    ...touched,
  };
  const [unreadable, setUnreadable] = useState<string>();
  const shown = fields.filter(({ when }) => when === undefined || when(values));
  const change = (field: Field, value: FieldValue) => {
    keep(field, value);
    setTouched((before) => ({ ...before, [field.name]: value }));
  };
  const filledIn = () =>
    Object.fromEntries(shown.map((field) => [field.name, submittedValueOf(field, values[field.name])]));
  const send = (event: SyntheticEvent<HTMLFormElement, SubmitEvent>) => {
    event.preventDefault();
    const filled = filledIn();
    const wrong = shown.find(({ kind, name }) => kind === 'json' && filled[name] === undefined);
    setUnreadable(wrong?.name);
    if (wrong !== undefined) return;
    if (isTrial(event)) trial?.action.mutate(filled);
    else action.mutate(filled, { onSuccess: onClose });
  };
  return (
    <Modal
      isOpen={!isAsking}
      variant={children || trial ? 'large' : sizeOf(fields)}
      onClose={onClose}
      aria-labelledby={`${id}-title`}
    >
      <ModalHeader title={title} labelId={`${id}-title`} {...(lead === undefined ? {} : { description: lead })} />
      <ModalBody>
        <Form id={id} onSubmit={send}>
          {action.isError && <Problem error={action.error} />}
          {children}
          {shown.map((field, index) => (
            <FieldRow
              key={field.name}
              id={`${id}-${field.name}`}
              field={field}
              isFirst={index === 0}
              isUnreadable={unreadable === field.name}
              value={values[field.name]}
              onChange={(value) => change(field, value)}
            />
          ))}
        </Form>
        {note?.(filledIn())}
        {trial !== undefined && <TrialResult trial={trial} />}
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
        {trial !== undefined && (trial.when === undefined || trial.when(values)) && (
          <Button
            type="submit"
            form={id}
            name={TRIAL}
            variant="secondary"
            isLoading={trial.action.isPending}
            isDisabled={trial.action.isPending}
          >
            {trial.name}
          </Button>
        )}
        <Button variant="link" onClick={onClose}>
          {t('cancel')}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

/** TrialResult scrolls the result of a trial into view, because it is below a form that may be long. */
function TrialResult({ trial: { action, found } }: { trial: Trial }) {
  const place = useRef<HTMLDivElement>(null);
  const { data, error } = action;
  useEffect(() => {
    if (data !== undefined || error !== null) place.current?.scrollIntoView({ block: 'nearest' });
  }, [data, error]);
  return (
    <div role="status" className="sw-trial" ref={place}>
      {action.isError ? <Problem error={error} /> : found}
    </div>
  );
}

const TRIAL = 'trial';
const isTrial = ({ nativeEvent: { submitter } }: SyntheticEvent<HTMLFormElement, SubmitEvent>) =>
  submitter?.getAttribute('name') === TRIAL;

interface RowProps extends ControlProps {
  readonly isUnreadable: boolean;
}

function FieldRow({ id, field, isFirst, isUnreadable, value, onChange }: RowProps) {
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
  const group = field.kind === 'choices' || field.kind === 'rows';
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
