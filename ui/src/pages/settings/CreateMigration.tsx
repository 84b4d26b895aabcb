import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { MigrationAlgorithm, MigrationAlgorithmSchema, MigrationsService } from "../../../../gen/latchkey/v2/migrations_pb.ts";
import { enumName } from "../../data/code/enumName.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { SelectField } from "../../design/forms/SelectField.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";

const { SHA256, PREFIXED_API_KEY } = MigrationAlgorithm;

const algorithms = [SHA256, PREFIXED_API_KEY].map((algorithm) => {
  const name = enumName(MigrationAlgorithmSchema, algorithm);
  return { value: name, label: name, algorithm };
});

/** Registers an import. */
export const CreateMigration = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState(enumName(MigrationAlgorithmSchema, SHA256));
  const create = useMutation(MigrationsService.method.createMigration);
  const algorithm = algorithms.find(({ value }) => value === chosen)?.algorithm ?? SHA256;
  const request = { algorithm, ...(name === "" ? {} : { name }) };
  const submit = async (): Promise<void> => {
    const answer = await create.run(request);
    if (answer?.message.data === undefined) return;
    announce(`Created ${answer.message.data.migrationId}.`);
    onClose();
  };
  return (
    <Dialog title="New migration" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["algorithm", "name"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending}>
              Create migration
            </Button>
            <CodeDrawer method={create.method} request={request} />
          </>
        }
      >
        <TextField label="Name" name="name" value={name} onChange={setName} hint="For people; empty: none." autofocus />
        <SelectField
          label="Algorithm"
          name="algorithm"
          value={chosen}
          options={algorithms}
          onChange={setChosen}
          hint="sha256: of the whole key. prefixed-api-key: of the part after the last underscore."
        />
      </Form>
    </Dialog>
  );
};
