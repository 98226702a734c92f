//! Columns as the bytes of a Parquet file, by the format's own writer and without Arrow's arrays, which a table of a
//! few thousand rows does not need.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

/// Values of one column, row by row; none is null.
pub enum Column {
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    /// Microseconds since 1970, UTC.
    Time(Vec<Option<i64>>),
    /// Any number of texts in each row.
    Texts(Vec<Vec<String>>),
}

#[derive(Default)]
pub struct Table {
    columns: Vec<(String, Column)>,
    names: BTreeSet<String>,
}

impl Table {
    /// A name that is taken gets an underscore: readers find columns by their names.
    pub fn push(&mut self, name: &str, column: Column) {
        let mut name = name.to_owned();
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        self.columns.push((name, column));
    }

    pub fn bytes(self, name: &str) -> Result<Vec<u8>> {
        let fields = self.columns.iter().map(|(name, column)| Ok(Arc::new(column.field(name)?)));
        let fields = fields.collect::<Result<Vec<TypePtr>>>()?;
        let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("dbduel {}", env!("CARGO_PKG_VERSION")));
        let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
        let mut rows = file.next_row_group()?;
        for (_, column) in &self.columns {
            let mut writer = rows.next_column()?.context("a column for each field")?;
            column.write(&mut writer)?;
            writer.close()?;
        }
        rows.close()?;
        Ok(file.into_inner()?)
    }
}

impl Column {
    fn field(&self, name: &str) -> Result<Type> {
        let optional = |physical, logical| {
            let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            field.with_logical_type(logical).build()
        };
        Ok(match self {
            Column::Text(_) => optional(Physical::BYTE_ARRAY, Some(LogicalType::String))?,
            Column::Whole(_) => optional(Physical::INT64, None)?,
            Column::Number(_) => optional(Physical::DOUBLE, None)?,
            Column::Time(_) => optional(Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))?,
            Column::Texts(_) => list_of_texts(name)?,
        })
    }

    fn write(&self, writer: &mut SerializedColumnWriter) -> Result<()> {
        match self {
            Column::Text(texts) => {
                let (values, levels) = present(texts.iter().map(|text| text.as_deref().map(ByteArray::from)));
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Whole(numbers) | Column::Time(numbers) => {
                let (values, levels) = present(numbers.iter().copied());
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Number(numbers) => {
                let (values, levels) = present(numbers.iter().copied());
                writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Texts(lists) => {
                let (values, definition, repetition) = flattened(lists);
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&definition), Some(&repetition))?;
            }
        }
        Ok(())
    }
}

/// Three levels, as the format has it for lists.
fn list_of_texts(name: &str) -> Result<Type> {
    let element = Type::primitive_type_builder("element", Physical::BYTE_ARRAY);
    let element = element.with_repetition(Repetition::REQUIRED).with_logical_type(Some(LogicalType::String)).build()?;
    let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
    let list = list.with_fields(vec![Arc::new(element)]).build()?;
    let outer = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
    Ok(outer.with_logical_type(Some(LogicalType::List)).with_fields(vec![Arc::new(list)]).build()?)
}

/// The values that are there, and for each row whether it has one.
fn present<T>(cells: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    (values, levels)
}

/// All texts one after the other; an empty list is a level without a value, and only a list's first text begins a row.
fn flattened(lists: &[Vec<String>]) -> (Vec<ByteArray>, Vec<i16>, Vec<i16>) {
    let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    for list in lists {
        if list.is_empty() {
            definition.push(0);
            repetition.push(0);
        }
        for (place, text) in list.iter().enumerate() {
            values.push(ByteArray::from(text.as_str()));
            definition.push(1);
            repetition.push(i16::from(place > 0));
        }
    }
    (values, definition, repetition)
}
