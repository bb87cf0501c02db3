"""The report as one HTML page that needs nothing beside it: pictures and CSV files are inside."""

import base64
import html
import io

import matplotlib.pyplot as plt

from tables import digits, label_of, scaled_unit, sittings_text

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 1080px; margin: 2em auto;
       padding: 0 1em; }
h1 { font-size: 1.7em; margin-bottom: 0.2em; } h2 { font-size: 1.25em; margin-top: 2em; }
figure { margin: 1em 0; break-inside: avoid; } figure img { max-width: 100%; height: auto; }
figcaption, .small { color: #555; font-size: 0.87em; }
table { border-collapse: collapse; font-size: 0.82em; margin: 0.8em 0; }
th, td { border-bottom: 1px solid #ddd; padding: 0.2em 0.7em 0.2em 0; text-align: left;
         vertical-align: top; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.cannot { color: #8a3c00; } td.wrong { color: #b00000; font-weight: bold; }
summary { cursor: pointer; color: #0050a0; } nav a { margin-right: 1em; }
@media print { body { max-width: none; margin: 0; font-size: 10pt; } nav { display: none; }
               h2, h2 + p { break-after: avoid; } tr { break-inside: avoid; } }
"""


def picture(figure):
    """PNG bytes; the figure is closed."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    return buffer.getvalue()


def data_link(content, kind):
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def value_cell(row, baseline):
    if row["value"] is None:
        kind = (row["failure"] or {}).get("kind", "cannot")
        reason = (row["failure"] or {}).get("reason", "not measured")
        text = f"WRONG VALUES: {reason}" if kind == "wrong" else f"cannot: {reason}"
        return f'<td class="{kind}">{html.escape(text)}</td>'
    value = row["value"]
    unit, size = scaled_unit(value["median"], row["key"]["unit"])
    text = (f"{digits(value['median'] / size)} {unit} [{digits(value['low'] / size)} .. "
            f"{digits(value['high'] / size)}]")
    if row["ratio"] and row["component"] != baseline:
        text += f"<br>x {digits(row['ratio']['median'])}"
    return f'<td class="number">{text}</td>'


def table(rows, components, baseline):
    """A line for each result, a column for each component; failures keep their cells."""
    lines = {}
    for row in rows:
        key = row["key"]
        title = f"{label_of(key['case'], key['params'])}: {key['metric']} ({key['flavor']})"
        lines.setdefault(title, {})[row["component"]] = row
    head = "".join(f"<th>{html.escape(name)}</th>" for name in components)
    body = "".join(
        f"<tr><td>{html.escape(title)}</td>"
        + "".join(value_cell(line[name], baseline) if name in line else "<td></td>"
                  for name in components) + "</tr>\n"
        for title, line in lines.items())
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


def failures(rows):
    """What could not be run, once for each case and component."""
    known = {}
    for row in rows:
        if row["failure"]:
            key = (row["key"]["case"], row["key"]["flavor"], row["component"])
            known.setdefault(key, row["failure"])
    return [(*key, failure) for key, failure in known.items()]


def failure_list(rows):
    found = failures(rows)
    if not found:
        return ""
    items = "".join(f"<li>{html.escape(component)}, {html.escape(case)} ({flavor}): "
                    f"{'WRONG VALUES: ' if failure['kind'] == 'wrong' else ''}"
                    f"{html.escape(failure['reason'])}</li>"
                    for case, flavor, component, failure in found)
    return f"<p>Not measured, and why:</p><ul class='small'>{items}</ul>"


def figures_html(pictures):
    """`pictures`: (PNG bytes, caption)."""
    return "".join(
        f'<figure><img src="{data_link(png, "image/png")}" alt="{html.escape(caption)}">'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>" for png, caption in pictures)


def claims_html(name, title, text, columns, lines, pictures):
    """A section about simulated cells: what is claimed and what came out."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>\n" for line in lines)
    return (f'<h2 id="{name}">{html.escape(title)}</h2><p>{html.escape(text)}</p>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{figures_html(pictures)}")


def section_html(section, rows, components, baseline, pictures):
    """`pictures`: (PNG bytes, caption)."""
    figures = figures_html(pictures)
    return (f'<h2 id="{section.name}">{html.escape(section.title)}</h2>'
            f"<p>{html.escape(section.text)}</p>{figures}{failure_list(rows)}"
            f"<details><summary>Figures in numbers</summary>"
            f"{table(rows, components, baseline)}</details>")


def where(document):
    machine, options = document["machine"], document["options"]
    return (f"{machine['cpu']}, {machine['cores']} cores; {machine['kernel']}; {machine['mpi']}; "
            f"load {machine['load'][0]} at the end; {options['ranks']} ranks, "
            f"{options['repeats']} interleaved repeats")


def sittings_html(documents):
    """A line, if any run was stopped and went on later."""
    texts = {name: sittings_text(document.get("sittings", [])) for name, document in documents.items()}
    lines = "; ".join(f"{name}: {text}" for name, text in texts.items() if text)
    return f'<p class="small">Several sittings. {html.escape(lines)}.</p>' if lines else ""


def page(title, documents, sections, csvs):
    """`documents`: name -> JSON document of a run; `sections`: (name, title, HTML)."""
    machines = "".join(f"<li>{html.escape(name)}: {html.escape(where(document))}</li>"
                       for name, document in documents.items())
    links = "".join(f'<a download="{name}" href="{data_link(content, "text/csv")}">{name}</a> '
                    for name, content in csvs.items())
    menu = "".join(f'<a href="#{name}">{html.escape(text)}</a>' for name, text, _ in sections)
    content = "\n".join(body for _, _, body in sections)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p>The same program, run in turn on rmalock and on Open MPI's own one-sided components. Figures are
medians over the repeats; bars are the order-statistic interval that covers the median with 95 %, or
the range where there are too few repeats for that. They hold for this machine and this load; ratios
(x) are formed within each repeat, against the first component.</p>
<ul class="small">{machines}</ul>
{sittings_html(documents)}
<p class="small">All figures as CSV: {links}</p>
<nav>{menu}</nav>
{content}
</body></html>
"""
