import type { JSX } from "preact";
import { type Theme, theme } from "../../data/theme.ts";
import { RadioGroup, type RadioOption } from "../../design/forms/RadioGroup.tsx";

const options: readonly RadioOption<Theme>[] = [
  { value: "system", label: "Same as the device" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

/** Light or dark, from the next moment on, in this browser. */
export const ThemeTab = (): JSX.Element => (
  <>
    <RadioGroup
      label="Theme"
      name="theme"
      value={theme.value}
      options={options}
      onChange={(value) => {
        theme.value = value;
      }}
    />
    <p class="quiet">This browser keeps the choice.</p>
  </>
);
